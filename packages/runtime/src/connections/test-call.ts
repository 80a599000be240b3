import { z } from 'zod';
import { BoxError } from '../errors.ts';
import { callService } from './call.ts';
import type { CallOptions } from './call.ts';
import type { Resolved } from './resolve.ts';

export const ConnectionTest = z.object({
  ok: z.boolean(),
  message: z.string(),
  status: z.int().nullable().describe('What the service answered; null: it was not called, or did not answer'),
  durationMs: z.int(),
});
export type ConnectionTest = z.infer<typeof ConnectionTest>;

/** Calls the service once with its credential. What it answers is not shown. */
export async function testService(service: Resolved, options: CallOptions): Promise<ConnectionTest> {
  const start = performance.now();
  const say = (ok: boolean, message: string, status: number | null): ConnectionTest => {
    return { ok, message, status, durationMs: Math.round(performance.now() - start) };
  };
  const { test, title } = service;
  try {
    if (!test) {
      await options.credential();
      return say(true, `There is a credential. The box knows no call of ${title} that would try it.`, null);
    }
    const { method, path, body } = test;
    const content = body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } };
    const answer = await callService(service, path, { method, ...content }, options);
    await answer.body?.cancel();
    if (answer.ok) return say(true, `${title} takes the credential.`, answer.status);
    const isRefused = answer.status === 401 || answer.status === 403;
    const why = isRefused ? 'does not take the credential' : 'did not answer as hoped';
    return say(false, `${title} ${why}: it answered ${answer.status}.`, answer.status);
  } catch (error) {
    if (error instanceof BoxError) return say(false, error.message, null);
    if (options.signal?.aborted) return say(false, `${title} did not answer in time.`, null);
    throw error;
  }
}
