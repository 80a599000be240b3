import { createHook } from '../engine/primitives/hook.ts';
import type { Hook, HookOptions } from '../engine/primitives/hook.ts';
import type { HookRow } from '../engine/journal/hooks.ts';
import { decode } from '../engine/serialize.ts';
import { HookNotFoundError } from './errors.ts';
import { inBox } from './in-box.ts';

/** A hook as those outside of its run see it. */
export interface HookInfo {
  hookId: string;
  token: string;
  runId: string;
  isWebhook: boolean;
  metadata: unknown;
  createdAt: Date;
}

/** Throws `HookNotFoundError` unless a hook or a webhook with this token is open. */
export function getHookByToken(token: string): Promise<HookInfo> {
  return inBox({
    caller: 'getHookByToken',
    input: { token },
    work: async (client) => toEntry(token, await client.findHook(token)),
  });
}

export interface ResumeHookOptions {
  /**
   * How long the payload waits for a hook of the token that there is not yet: milliseconds, or text such as "10m", up to 7
   * days. Default: it does not, and `HookNotFoundError` is thrown.
   */
  waitFor?: number | string;
}

/** Resumes a hook; a webhook is resumed with `resumeWebhook`, an approval is decided by a person. */
export function resumeHook<T = unknown>(hook: string | { token: string }, payload: T): Promise<HookInfo>;
/** The same; undefined: there is no such hook yet, and the payload waits for it. */
export function resumeHook<T = unknown>(
  hook: string | { token: string },
  payload: T,
  options: ResumeHookOptions,
): Promise<HookInfo | undefined>;
export function resumeHook<T = unknown>(
  hook: string | { token: string },
  payload: T,
  { waitFor }: ResumeHookOptions = {},
): Promise<HookInfo | undefined> {
  const token = typeof hook === 'string' ? hook : hook.token;
  return inBox({
    caller: 'resumeHook',
    input: { token, payload, ...(waitFor === undefined ? {} : { waitFor }) },
    async work(client) {
      if (waitFor !== undefined) {
        const entry = await client.findHook(token);
        const runId = await client.signalHook(token, payload, waitFor);
        return runId === undefined ? undefined : toEntry(token, entry ?? (await client.findHook(token)));
      }
      const entry = toEntry(token, await client.findHook(token));
      await client.resumeHook(token, payload);
      return entry;
    },
  });
}

/** Calls a webhook as an outside service would; answers what its workflow answers. */
export function resumeWebhook(token: string, request: Request): Promise<Response> {
  return inBox({
    caller: 'resumeWebhook',
    input: { token, request },
    work: (client) => client.callWebhook(token, request),
  });
}

/** A schema of any library that speaks Standard Schema: zod, valibot, arktype. */
export interface StandardSchema<I, O> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<O> | Promise<SchemaResult<O>>;
    readonly types?: { readonly input: I; readonly output: O } | undefined;
  };
}

export interface TypedHook<I, O> {
  create(options?: HookOptions): Hook<O>;
  /** Checks the payload with the schema, then resumes. What comes in through the HTTP route is not checked. */
  resume(token: string, payload: I): Promise<HookInfo>;
}

/** A hook whose payload has a type, and a schema if one is given. */
export function defineHook<I, O = I>({ schema }: { schema?: StandardSchema<I, O> } = {}): TypedHook<I, O> {
  return {
    create: (options) => createHook<O>(options),
    async resume(token, payload) {
      const result = await schema?.['~standard'].validate(payload);
      if (result?.issues)
        throw Object.assign(
          new TypeError(`The payload does not match the schema of the hook: ${describe(result.issues)}`),
          { fatal: true },
        );
      return resumeHook(token, result ? result.value : payload);
    },
  };
}

// --- internal ---

type SchemaResult<O> =
  | { readonly value: O; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[]; readonly value?: undefined };

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

function describe(issues: readonly SchemaIssue[]): string {
  return issues
    .map(({ message, path = [] }) => {
      const place = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
      return place === '' ? message : `${place}: ${message}`;
    })
    .join('; ');
}

function toEntry(token: string, hook: HookRow | undefined): HookInfo {
  if (!hook?.isOpen || hook.kind === 'approval') throw Object.assign(new HookNotFoundError(token), { fatal: true });
  const { runId, kind, createdAt } = hook;
  const detail = hook.detail === null ? undefined : decode(hook.detail);
  const isWebhook = kind === 'webhook';
  const metadata = isWebhook ? (detail as { metadata?: unknown } | undefined)?.metadata : detail;
  return { hookId: token, token, runId, isWebhook, metadata, createdAt: new Date(createdAt) };
}
