import { BoxError } from '../../errors.ts';

export interface MessageModel {
  type: 'model';
  id: string;
  display_name: string;
  /** RFC 3339. */
  created_at: string;
}

export function toMessageModel(id: string, startedAt: number): MessageModel {
  return { type: 'model', id, display_name: id, created_at: new Date(startedAt).toISOString() };
}

/** One page. Behind `before_id` comes what comes directly before it, in the order of the list. */
export function toModelPage(models: readonly MessageModel[], query: URLSearchParams) {
  const limit = toLimit(query.get('limit'));
  const afterId = query.get('after_id');
  const beforeId = query.get('before_id');
  const end = beforeId === null ? models.length : positionOf(models, 'before_id', beforeId);
  const start = afterId === null ? 0 : positionOf(models, 'after_id', afterId) + 1;
  const between = models.slice(start, end);
  const isBackward = beforeId !== null && afterId === null;
  const data = isBackward ? between.slice(-limit) : between.slice(0, limit);
  return {
    data,
    has_more: data.length < between.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

// --- internal ---

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1_000;

function toLimit(text: string | null): number {
  if (text === null) return DEFAULT_LIMIT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw invalid('limit', `"limit" must be a whole number from 1 to ${MAX_LIMIT}.`);
}

function positionOf(models: readonly MessageModel[], param: string, id: string): number {
  const position = models.findIndex((model) => model.id === id);
  if (position >= 0) return position;
  throw invalid(param, `"${param}" is "${id}", which is no model of this box.`);
}

function invalid(param: string, message: string): BoxError {
  return new BoxError('invalid_request', message, { details: { param } });
}
