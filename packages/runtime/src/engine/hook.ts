import type { EventAction, OpenHook } from './call.ts';
import { currentContext } from './context.ts';
import type { RunHandle } from './handle.ts';
import type { HookKind } from './journal.ts';
import { encode } from './serialize.ts';

export interface HookOptions {
  /** Names the hook to the outside. Default: an unguessable one. A token another open hook has is refused at the await. */
  token?: string;
  /** What those who look at the hook are shown. */
  metadata?: unknown;
}

/**
 * A place the run can be resumed at from outside. `await` takes the first resume; `for await` takes every one, in the
 * order they came, also those that came before the loop asked.
 */
export interface Hook<T> extends PromiseLike<T>, AsyncIterable<T> {
  readonly token: string;
}

/** Makes a hook; `POST /api/workflows/hooks/:token/resume` resumes it. Works in a workflow body only. */
export function createHook<T = unknown>(options: HookOptions = {}): Hook<T> {
  const execution = bodyOf('createHook');
  const opened = execution.openHook({ kind: 'hook', token: options.token ?? null, detail: options.metadata });
  return toHook<T>(execution, opened, 'hook');
}

export interface WebhookOptions {
  /** What the caller is answered. Default: 202 without a body. */
  respondWith?: { status?: number; headers?: Record<string, string>; body?: string };
}

/** What one call of a webhook brings. */
export interface WebhookCall {
  method: string;
  url: string;
  headers: Record<string, string>;
  /** Parsed when it was JSON, else text. */
  body: unknown;
}

/** A hook an outside service can call: the unguessable token in its `url` is the credential. */
export function createWebhook(options: WebhookOptions = {}): Hook<WebhookCall> & { readonly url: string } {
  const execution = bodyOf('createWebhook');
  checkAnswer(options);
  const opened = execution.openHook({ kind: 'webhook', token: null, detail: options });
  return { ...toHook<WebhookCall>(execution, opened, 'webhook'), url: execution.ambient.webhookUrl(opened.token) };
}

/** The execution of the body this is called in. */
export function bodyOf(caller: string): RunHandle {
  const context = currentContext();
  if (context?.kind !== 'body') throw new Error(`${caller}() works in a workflow body only.`);
  return context.execution;
}

export function toHook<T>(execution: RunHandle, opened: OpenHook, kind: HookKind): Hook<T> {
  let first: Promise<unknown> | undefined;
  return {
    token: opened.token,
    // oxlint-disable-next-line unicorn/no-thenable -- awaiting the hook is how its first resume is taken
    then(onFulfilled, onRejected) {
      first ??= awaitEvent(execution, { kind, token: opened.token, n: 0 });
      return (first as Promise<T>).then(onFulfilled, onRejected);
    },
    async *[Symbol.asyncIterator]() {
      opened.keepAll();
      for (let n = 0; ; n++) yield (await awaitEvent(execution, { kind, token: opened.token, n })) as T;
    },
  };
}

/** Throws what an outside service could not be answered, before anybody waits for it. */
function checkAnswer({ respondWith: { status = 202, headers = {}, body = '' } = {} }: WebhookOptions): void {
  try {
    void new Response(body === '' ? null : body, { status, headers });
  } catch (error) {
    throw new TypeError(`The "respondWith" of createWebhook() is no answer: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

export interface EventRequest {
  kind: HookKind;
  token: string;
  n: number;
  title?: string;
  deadline?: EventAction['deadline'];
}

/** Waits for the n-th resume. The token is no part of what is recorded: a webhook's is a secret. */
export function awaitEvent(execution: RunHandle, request: EventRequest): Promise<unknown> {
  const { kind, token, n, title, deadline } = request;
  return execution.invoke({
    kind: kind === 'approval' ? 'approval' : 'hook',
    stepId: `await ${kind}`,
    input: encode({ kind, n, ...(title === undefined ? {} : { title }) }, kind),
    action: { type: 'event', token, n, ...(deadline ? { deadline } : {}) },
  });
}
