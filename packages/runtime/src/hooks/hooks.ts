import { Decision } from '../approvals/decision.ts';
import type { Approvals } from '../approvals/approvals.ts';
import type { Decider } from '../approvals/approvers.ts';
import { readBytes } from '../engine/values/bodies.ts';
import type { Engine } from '../engine/engine.ts';
import { newToken } from '../engine/ids.ts';
import type { Journal } from '../engine/journal.ts';
import type { HookEvent, HookRow } from '../engine/journal/hooks.ts';
import { decode, encode } from '../engine/serialize.ts';
import { digestOfValue } from '../engine/values/digest.ts';
import { askAnswer } from '../engine/values/instances.ts';
import { encodeGiven } from '../engine/values/given.ts';
import { fromAnswer } from '../engine/values/webhook-answer.ts';
import type { StoredAnswer } from '../engine/values/webhook-answer.ts';
import { BoxError, idempotencyConflict } from '../errors.ts';
import { toIso, toShownValue } from '../json-value.ts';
import { parseWith } from '../schema/schema.ts';
import { waitForAnswer } from './answer.ts';

export interface ResumeReceipt {
  runId: string;
  status: 'resumed';
}

export interface Hooks {
  /** Resumes the hook of the token. A hook takes any JSON; an approval takes a decision. */
  resume(token: string, payload: unknown, decider: Decider): Promise<ResumeReceipt>;
  /** Throws unless there is a webhook with this token. Resumes nothing. */
  checkWebhook(token: string): Promise<void>;
  /** As an author's code does it: only a hook, with a value of any kind. */
  resumeFromCode(token: string, payload: unknown): Promise<void>;
  /**
   * Resumes a webhook: here the token is the credential, and no other kind of hook is found. Answers what its workflow
   * says; a manual answer is waited for, and `webhook_unanswered` where none comes. `take` is called once there is such a
   * webhook: nothing is read for whoever has no token.
   */
  call(token: string, take: (options: TakeOptions) => Promise<Request>): Promise<Response>;
  /** The same with these approvals. */
  with(approvals: Approvals): Hooks;
}

export interface TakeOptions {
  /** Whether the headers of the caller that are credentials are for the workflow. */
  keepsCredentials: boolean;
}

export interface HooksOptions {
  journal: Journal;
  engine: Engine;
  approvals: Approvals;
  /** Milliseconds a manual answer is waited for. Default 30,000. */
  answerMs?: number;
}

const BODY_BYTES = 1_048_576;

export function createHooks(options: HooksOptions): Hooks {
  const { journal, engine, approvals, answerMs = 30_000 } = options;
  const find = async (token: string, isWanted: (hook: HookRow) => boolean): Promise<HookRow> => {
    const hook = await journal.hooks.find(token);
    if (!hook || !isWanted(hook)) throw new BoxError('hook_not_found', 'There is no hook with this token.');
    return hook;
  };
  return {
    async resume(token, payload, decider) {
      const hook = await find(token, ({ kind }) => kind !== 'webhook' && kind !== 'event');
      if (hook.kind === 'approval') {
        const parsed = await parseWith(Decision, payload);
        if (!parsed.ok)
          throw new BoxError('invalid_request', 'An approval is resumed with { "decision": "approve" | "reject" }.', {
            details: { issues: parsed.issues },
          });
        const { runId } = await approvals.decide(token, parsed.value as Decision, decider);
        return { runId, status: 'resumed' };
      }
      await resumeOnce(engine, token, payload, decider.idempotencyKey);
      return { runId: hook.runId, status: 'resumed' };
    },
    async checkWebhook(token) {
      await find(token, ({ kind }) => kind === 'webhook');
    },
    async resumeFromCode(token, payload) {
      encodeGiven(payload, 'payload');
      await find(token, ({ kind }) => kind === 'hook');
      await resumeOnce(engine, token, payload);
    },
    async call(token, take) {
      const hook = await find(token, ({ kind }) => kind === 'webhook');
      const { respondWith, credentials } = decode(hook.detail ?? encode({}, 'detail')) as WebhookDetail;
      const request = await take({ keepsCredentials: credentials === true });
      await readBytes(request, BODY_BYTES);
      if (respondWith !== 'manual') {
        await callOnce(engine, token, request);
        return fromAnswer(respondWith);
      }
      const answer = { runId: hook.runId, stream: `webhook:${newToken()}` };
      await callOnce(engine, token, askAnswer(request, answer.stream));
      return waitForAnswer(answer, { engine, journal, waitMs: answerMs });
    },
    with: (others) => createHooks({ ...options, approvals: others }),
  };
}

/** @param event the resume it has had */
export function alreadyResumed({ at, payload }: HookEvent): BoxError {
  return new BoxError('already_decided', 'This hook has been resumed before.', {
    details: { at: toIso(at), payload: toShownValue(payload) },
  });
}

/** Nothing of what was taken is lost; what is refused is to come again. */
export function hookFull(): BoxError {
  const message = 'Too many resumes of this hook wait for its run to take them. Send this one again later.';
  return new BoxError('hook_queue_full', message, { details: { retryAfter: 5 } });
}

// --- internal ---

interface WebhookDetail {
  respondWith: StoredAnswer | 'manual';
  credentials?: boolean;
}

/** Of a webhook: a later caller does not see what another has sent. */
async function callOnce(engine: Engine, token: string, request: unknown): Promise<void> {
  try {
    await resumeOnce(engine, token, request);
  } catch (error) {
    if (!(error instanceof BoxError) || error.code !== 'already_decided') throw error;
    const { at } = error.details as { at: string };
    throw new BoxError('already_decided', 'This webhook has been called before.', { details: { at } });
  }
}

async function resumeOnce(engine: Engine, token: string, payload: unknown, key?: string): Promise<void> {
  const digest = () => digestOfValue(payload, encode(payload, 'body'));
  const options = key === undefined ? {} : { idempotency: { key, ...digest() } };
  const result = await engine.resumeHook(token, payload, options);
  if (result?.outcome === 'resumed' || result?.outcome === 'repeated') return;
  if (result?.outcome === 'idempotency_conflict') throw idempotencyConflict(key);
  if (result?.outcome === 'already') throw alreadyResumed(result.event);
  if (result?.outcome === 'full') throw hookFull();
  throw new BoxError('hook_closed', 'This hook is closed: its run has ended, or has disposed of it.');
}
