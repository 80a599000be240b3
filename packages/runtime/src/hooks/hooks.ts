import { Decision } from '../approvals/approvals.ts';
import type { Approvals } from '../approvals/approvals.ts';
import type { Engine } from '../engine/engine.ts';
import type { HookRow, Journal } from '../engine/journal.ts';
import { decode } from '../engine/serialize.ts';
import { BoxError } from '../errors.ts';
import { toIso, toJsonValue } from '../runs/json-value.ts';
import { parseWith } from '../schema/schema.ts';

export interface ResumeReceipt {
  runId: string;
  status: 'resumed';
}

export interface Hooks {
  /** Resumes the hook of the token. A hook takes any JSON; an approval takes a decision. */
  resume(token: string, payload: unknown, by: string): Promise<ResumeReceipt>;
  /** Resumes a webhook: here the token is the credential, and no other kind of hook is found. */
  call(token: string, request: WebhookRequest): Promise<WebhookAnswer>;
}

/** What a webhook's await gives. */
export interface WebhookRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  /** Parsed when it was JSON, else text. */
  body: unknown;
}

export interface WebhookAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export interface HooksOptions {
  journal: Journal;
  engine: Engine;
  approvals: Approvals;
}

export function createHooks({ journal, engine, approvals }: HooksOptions): Hooks {
  const find = async (token: string, isWanted: (hook: HookRow) => boolean): Promise<HookRow> => {
    const hook = await journal.hooks.find(token);
    if (!hook || !isWanted(hook)) throw new BoxError('hook_not_found', 'There is no hook with this token.');
    return hook;
  };
  return {
    async resume(token, payload, by) {
      const hook = await find(token, ({ kind }) => kind !== 'webhook');
      if (hook.kind === 'approval') {
        const parsed = await parseWith(Decision, payload);
        if (!parsed.ok)
          throw new BoxError('invalid_request', 'An approval is resumed with { "decision": "approve" | "reject" }.', {
            details: { issues: parsed.issues },
          });
        const { runId } = await approvals.decide(token, parsed.value as Decision, by);
        return { runId, status: 'resumed' };
      }
      await resumeOnce(engine, token, payload);
      return { runId: hook.runId, status: 'resumed' };
    },
    async call(token, request) {
      const hook = await find(token, ({ kind }) => kind === 'webhook');
      await resumeOnce(engine, token, request);
      const { respondWith } = (hook.detail ? decode(hook.detail) : {}) as { respondWith?: Partial<WebhookAnswer> };
      return { status: 202, headers: {}, body: '', ...respondWith };
    },
  };
}

// --- internal ---

async function resumeOnce(engine: Engine, token: string, payload: unknown): Promise<void> {
  const result = await engine.resumeHook(token, payload);
  if (result?.outcome === 'resumed') return;
  if (result?.outcome === 'already')
    throw new BoxError('already_decided', 'This hook has been resumed before.', {
      details: { at: toIso(result.event.at), payload: toJsonValue(decode(result.event.payload)) },
    });
  throw new BoxError('hook_closed', 'The run that made this hook has ended.');
}
