import type { Delivery } from '../engine/journal/notices.ts';
import type { Receiver } from './config.ts';
import { signMessage, toKey } from './signature.ts';

/** The outcome of one attempt. */
export type Sent = { isDelivered: true } | { isDelivered: false; reason: string; retryAfterMs?: number };

export interface SendOptions {
  /** Throws a sentence where there is none. */
  readSecret(name: string): Promise<string>;
  version: string;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Posts a message once. Never throws, unless the signal aborts. */
export async function send(delivery: Delivery, receiver: Receiver, options: SendOptions): Promise<Sent> {
  const { deliveryId: id, body } = delivery;
  const late = AbortSignal.timeout(options.timeoutMs);
  try {
    const values = await Promise.all(receiver.secrets.map(async (name) => toKey(name, await options.readSecret(name))));
    const answer = await fetch(receiver.url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'user-agent': `svc/${options.version}`,
        ...signMessage({ id, body, at: new Date() }, values),
      },
      // One that sends elsewhere is not the one that was named.
      redirect: 'manual',
      signal: AbortSignal.any([options.signal, late]),
    });
    await answer.body?.cancel();
    if (answer.ok) return { isDelivered: true };
    const reason = `It answered ${answer.status}.`;
    const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
    return Number.isFinite(seconds) && seconds >= 0
      ? { isDelivered: false, reason, retryAfterMs: Math.min(seconds * 1_000, LONGEST_WAIT_MS) }
      : { isDelivered: false, reason };
  } catch (error) {
    options.signal.throwIfAborted();
    if (late.aborted) return { isDelivered: false, reason: `It did not answer within ${options.timeoutMs} ms.` };
    return { isDelivered: false, reason: toReason(error) };
  }
}

// --- internal ---

const LONGEST_WAIT_MS = 60 * 60 * 1_000;

function toReason(error: unknown): string {
  const { message, cause } = error as Error;
  const why = cause instanceof Error ? (cause as Error & { code?: string }).code || cause.message : message;
  return `It could not be reached: ${why}`.slice(0, 500);
}
