import type { EventAction, OpenHook } from '../call.ts';
import { currentContext } from '../context.ts';
import type { RunHandle } from '../handle.ts';
import type { HookKind } from '../journal/hooks.ts';
import { encode } from '../serialize.ts';
import { ONCE } from './step.ts';
import { toAnswer } from '../values/webhook-answer.ts';
import type { AnswerOption } from '../values/webhook-answer.ts';

export interface HookOptions {
  /** Names the hook to the outside. Default: an unguessable one. A token another open hook has is refused at the await. */
  token?: string;
  /** What those who look at the hook are shown. */
  metadata?: unknown;
}

/**
 * A place the run can be resumed at from outside. Each `await` takes the next resume, and so does each turn of
 * `for await`; a loop takes also those that came before it asked.
 */
export interface Hook<T> extends PromiseLike<T>, AsyncIterable<T> {
  readonly token: string;
  /** The run that has the token instead of this one; null: this one has it, and resumes can come. */
  getConflict(): Promise<{ runId: string } | null>;
  /** Takes no more resumes, and gives the token free. `using hook = createHook()` does so at the end of its block. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Makes a hook; `POST /api/workflows/hooks/:token/resume` resumes it. Works in a workflow body only. */
// oxlint-disable-next-line typescript/no-explicit-any -- as in the Workflow SDK: an untyped payload is anything
export function createHook<T = any>(options: HookOptions = {}): Hook<T> {
  const execution = bodyOf('createHook');
  const opened = execution.openHook({ kind: 'hook', token: options.token ?? null, detail: options.metadata });
  return toHook<T>(execution, opened, 'hook');
}

export interface WebhookOptions {
  /** What each caller is answered. Default: 202 without a body. `manual`: what a step hands to `respondWith()`. */
  respondWith?: AnswerOption | 'manual';
  /**
   * Gives the workflow the caller's `authorization`, `proxy-authorization` and `cookie` headers, too. They are recorded
   * with the run and shown to those who may read it. Default false.
   */
  credentials?: boolean;
  /** What those who look at the hook are shown. */
  metadata?: unknown;
}

/** A call that waits for its answer. `respondWith()` works in a step. */
export interface RequestWithResponse extends Request {
  respondWith(response: Response): Promise<void>;
}

export interface Webhook<T extends Request = Request> extends Hook<T> {
  readonly url: string;
}

/** A hook an outside service can call, with any method: the unguessable token in its `url` is the credential. */
export function createWebhook(options: WebhookOptions & { respondWith: 'manual' }): Webhook<RequestWithResponse>;
export function createWebhook(options?: WebhookOptions): Webhook;
export function createWebhook({ respondWith, credentials, metadata }: WebhookOptions = {}): Webhook {
  const execution = bodyOf('createWebhook');
  const answer = respondWith === 'manual' ? respondWith : toAnswer(respondWith);
  const kept = credentials ? { credentials: true } : {};
  const detail = { respondWith: answer, ...kept, ...(metadata === undefined ? {} : { metadata }) };
  const opened = execution.openHook({ kind: 'webhook', token: null, detail });
  const hook = toHook<Request>(execution, opened, 'webhook');
  return Object.assign(hook, { url: execution.ambient.webhookUrl(opened.token) });
}

/** The execution of the body this is called in. */
export function bodyOf(caller: string): RunHandle {
  const context = currentContext();
  if (context?.kind !== 'body') throw new Error(`${caller}() works in a workflow body only.`);
  return context.execution;
}

export function toHook<T>(execution: RunHandle, opened: OpenHook, kind: HookKind): Hook<T> {
  const { token } = opened;
  let n = 0;
  let pending: Promise<T> | undefined;
  let isDisposed = false;
  /** The next resume: whoever asks while it is awaited gets the same. */
  const next = (): Promise<T> => {
    if (pending) return pending;
    if (n > 0) opened.keepAll();
    const event = awaitEvent(execution, { kind, token, n, since: opened.since }) as Promise<T>;
    pending = event;
    const advance = () => {
      n += 1;
      pending = undefined;
    };
    // What a refused token is answered with stays the answer.
    event.then(advance, () => {});
    return event;
  };
  const dispose = (): void => {
    if (isDisposed) return;
    isDisposed = true;
    closeHook(execution, opened);
  };
  return {
    token,
    // oxlint-disable-next-line unicorn/no-thenable -- awaiting the hook is how a resume is taken
    then: (onFulfilled, onRejected) => next().then(onFulfilled, onRejected),
    async *[Symbol.asyncIterator]() {
      opened.keepAll();
      for (;;) {
        if (isDisposed) return;
        yield await next();
      }
    },
    getConflict: () => findConflict(execution, token),
    dispose,
    [Symbol.dispose]: dispose,
  };
}

export interface EventRequest {
  kind: HookKind;
  token: string;
  /** Which resume of this hook, from 0. */
  n: number;
  /** Which of the token's resumes is its first. */
  since: number;
  title?: string;
  deadline?: EventAction['deadline'];
}

/** Waits for the n-th resume. The token is no part of what is recorded: a webhook's is a secret. */
export function awaitEvent(execution: RunHandle, request: EventRequest): Promise<unknown> {
  const { kind, token, n, since, title, deadline } = request;
  return execution.invoke({
    kind: kind === 'approval' ? 'approval' : 'hook',
    stepId: `await ${kind}`,
    input: encode({ kind, n, ...(title === undefined ? {} : { title }) }, kind),
    action: { type: 'event', token, n: since + n, ...(deadline ? { deadline } : {}) },
  });
}

// --- internal ---

/** A step, as it begins once the hook is stored. */
function findConflict(execution: RunHandle, token: string): Promise<{ runId: string } | null> {
  const run = async () => {
    const hook = await execution.ambient.client.findHook(token);
    const isOther = hook?.isOpen && hook.runId !== execution.run.runId;
    return isOther ? { runId: hook.runId } : null;
  };
  const action = { type: 'run' as const, name: 'getConflict', policy: ONCE, run };
  return execution.invoke({ kind: 'hook', stepId: 'hook.getConflict', input: encode({}, 'hook'), action }) as Promise<{
    runId: string;
  } | null>;
}

/** Recorded, so that a run that goes on elsewhere still does it; the end of the run closes its hooks by itself. */
function closeHook(execution: RunHandle, { token, call }: OpenHook): void {
  const run = () => execution.ambient.client.closeHook(execution.run.runId, token, call);
  const action = { type: 'run' as const, name: 'dispose', policy: { ...ONCE, maxRetries: 3 }, run };
  execution.invoke({ kind: 'hook', stepId: 'hook.dispose', input: encode({}, 'hook'), action }).catch(() => {});
}
