import { ProviderError } from '../agents/model/provider-error.ts';
import { BoxError } from '../errors.ts';

export function collectionNotFound(name: string): BoxError {
  return new BoxError('rag_collection_not_found', `There is no collection "${name}" in this box.`);
}

export function documentNotFound(id: string, collection: string): BoxError {
  return new BoxError('rag_document_not_found', `There is no document "${id}" in the collection "${collection}".`);
}

/** The outcome of a call of the provider, for whoever asked for something that needed it. */
export function toAskedError(error: unknown): unknown {
  if (!(error instanceof ProviderError)) return error;
  const code = error.code === 'model_timeout' ? 'model_timeout' : 'model_provider_failed';
  return new BoxError(code, error.message, { cause: error });
}

/** What Postgres says; drizzle wraps it. */
export function sqlStateOf(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return code;
  return cause === undefined ? undefined : sqlStateOf(cause);
}
