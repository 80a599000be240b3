import { HIDDEN, WEBHOOK_TOKEN } from '../mask.ts';

/**
 * The same without the tokens of webhooks, in any text of plain data or of a stream: who holds one answers for the outside
 * service it was made for. What is no plain data is left as it is.
 */
export function hideWebhookTokens(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(TOKENS, HIDDEN);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(hideWebhookTokens);
  if (isStream(value)) return hideInStream(value);
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [hideWebhookTokens(name) as string, hideWebhookTokens(item)]),
  );
}

// --- internal ---

const TOKENS = new RegExp(WEBHOOK_TOKEN, 'g');

function isStream(value: object): value is AsyncIterable<unknown> {
  return Symbol.asyncIterator in value && !(value instanceof ReadableStream);
}

/** No generator: it would release what it reads only once that has answered. */
function hideInStream(frames: AsyncIterable<unknown>): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = frames[Symbol.asyncIterator]();
      return {
        async next() {
          const next = await iterator.next();
          return next.done ? next : { done: false, value: hideWebhookTokens(next.value) };
        },
        async return() {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
