import type { Box } from '@svc/runtime/host';
import { toPlainText } from '../terminal/style.ts';
import { ENV_FILE, readEnvFile } from './env-file.ts';

const VARIABLE = 'MODEL_PROVIDER_BASE_URL';

interface Provider {
  baseUrl: string | null;
  source: 'environment' | 'stored' | null;
}

/** Which provider is in force, and where that is from. */
export interface ProviderInForce {
  /** As it may be shown: without what may be a key in it. */
  baseUrl: string;
  /** In words. */
  from: string;
  /** What to do where it is not the right one. */
  advice: string;
}

/** Undefined: there is none. */
export async function findProvider(box: Pick<Box, 'request'>, root: string): Promise<ProviderInForce | undefined> {
  const answer = await box.request('/api/model-provider');
  if (!answer.ok) return undefined;
  const { baseUrl, source } = (await answer.json()) as Provider;
  if (baseUrl === null) return undefined;
  const isOfFile = source === 'environment' && readEnvFile(root).values[VARIABLE] === baseUrl;
  return { baseUrl: toShown(baseUrl), from: explainSource(source, isOfFile), advice: adviseSource(source, isOfFile) };
}

/** A line about a provider that does not answer as one; undefined: it does, or nothing certain is known. */
export async function findProviderProblem(box: Pick<Box, 'request'>, root: string): Promise<string | undefined> {
  const provider = await findProvider(box, root);
  const problem = provider && (await findProblem(box, provider.baseUrl));
  return problem && `${problem} It is ${provider.baseUrl} (${provider.from}). ${provider.advice}`;
}

// --- internal ---

/** A key may stand in the query, and what was stored by an earlier version may carry credentials. */
function toShown(address: string): string {
  const { origin, pathname } = new URL(address);
  return toPlainText(origin + pathname);
}

function explainSource(source: Provider['source'], isOfFile: boolean): string {
  if (isOfFile) return `${VARIABLE} of ${ENV_FILE}`;
  if (source === 'environment') return `${VARIABLE} of the environment`;
  return `stored earlier; neither the environment nor ${ENV_FILE} sets ${VARIABLE}`;
}

function adviseSource(source: Provider['source'], isOfFile: boolean): string {
  if (source === 'stored') return 'Set another one: svc provider set <address>';
  return `Correct ${VARIABLE} ${isOfFile ? `in ${ENV_FILE}` : 'in the environment'}, and start svc dev again.`;
}

/** It is asked for its models, which `svc provider models` does too; one that has no such list may be well. */
async function findProblem(box: Pick<Box, 'request'>, baseUrl: string): Promise<string | undefined> {
  const answer = await box.request('/api/models');
  if (answer.ok) return undefined;
  const { message = '', details } = (await answer.json()) as { message?: string; details?: { status?: number | null } };
  const status = details?.status;
  if (status === null || status === 401 || status === 403) return message;
  const isBare = new URL(baseUrl).pathname === '/';
  return status === 404 && isBare
    ? 'The model provider answered 404: its address must end in what comes before /chat/completions, such as /v1.'
    : undefined;
}
