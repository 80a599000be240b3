import type { CallHistory, HookRequest, OpenHook } from '../call.ts';
import { parseWakeTime } from '../duration.ts';
import type { HookEvent, NewHook } from '../journal/hooks.ts';
import { newToken, newWebhookToken } from '../ids.ts';
import { decode, encode } from '../serialize.ts';

/** The hooks of one run in memory: those to be stored, those refused, and what has come in. */
export interface RunHooks {
  /** Makes a hook, or finds it again on replay; `fresh`: it has no record yet. */
  open(made: MadeHook): { hook: OpenHook; fresh: boolean };
  /** What the next append has to store. */
  take(): NewHook[];
  readonly hasFresh: boolean;
  refuse(tokens: string[]): void;
  isRefused(token: string): boolean;
  load(events: HookEvent[]): void;
  /** A resume of the hook is among the records the run began with: those of its own are counted from there. */
  skip(token: string): void;
  find(token: string, n: number): HookEvent | undefined;
}

export interface MadeHook {
  call: number;
  request: HookRequest;
  history: CallHistory | undefined;
  /** The store's clock. */
  now: number;
}

export interface RunHooksOptions {
  /** Called when there is something to store. */
  onChange(): void;
  /** The run began with another run's records: hooks in them are stored again, as its own. */
  isCopy: boolean;
}

export function createRunHooks({ onChange, isCopy }: RunHooksOptions): RunHooks {
  const refused = new Set<string>();
  const skipped = new Map<string, number>();
  let fresh: NewHook[] = [];
  let events = new Map<string, HookEvent[]>();
  const store = (hook: NewHook) => {
    if (!fresh.includes(hook)) fresh.push(hook);
    onChange();
  };
  return {
    open({ call, request, history, now }) {
      const known = history?.set?.output;
      const recorded = known ? (decode(known) as { token: string; expiresAt: number | null }) : undefined;
      const token = recorded?.token ?? request.token ?? makeToken(request);
      const expiresAt = recorded ? recorded.expiresAt : expiryOf(request, now);
      const detail = detailOf(request, expiresAt);
      const hook: NewHook = { token, call, kind: request.kind, many: false, detail };
      if (!recorded || isCopy) store(hook);
      return {
        fresh: !recorded,
        hook: {
          token,
          expiresAt,
          keepAll() {
            if (hook.many) return;
            hook.many = true;
            store(hook);
          },
        },
      };
    },
    take() {
      // A hook that has had its one resume in the run before is not opened again.
      const taken = fresh.filter((hook) => hook.many || !skipped.has(hook.token)).map((hook) => ({ ...hook }));
      fresh = [];
      return taken;
    },
    get hasFresh() {
      return fresh.length > 0;
    },
    refuse(tokens) {
      for (const token of tokens) refused.add(token);
    },
    isRefused: (token) => refused.has(token),
    load(loaded) {
      events = groupByToken(loaded);
    },
    skip: (token) => void skipped.set(token, (skipped.get(token) ?? 0) + 1),
    find: (token, n) => events.get(token)?.find((event) => event.n === n - (skipped.get(token) ?? 0)),
  };
}

// --- internal ---

function makeToken({ kind }: HookRequest): string {
  return kind === 'webhook' ? newWebhookToken() : newToken();
}

function expiryOf({ timeout }: HookRequest, now: number): number | null {
  return timeout === undefined ? null : parseWakeTime(timeout, now);
}

function detailOf({ detail }: HookRequest, expiresAt: number | null): string | null {
  if (expiresAt !== null) return encode({ ...(detail as object), expiresAt }, 'detail');
  return detail === undefined ? null : encode(detail, 'detail');
}

function groupByToken(events: HookEvent[]): Map<string, HookEvent[]> {
  const groups = new Map<string, HookEvent[]>();
  for (const event of events) groups.set(event.token, [...(groups.get(event.token) ?? []), event]);
  return groups;
}
