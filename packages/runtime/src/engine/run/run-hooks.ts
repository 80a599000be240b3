import type { CallHistory, HookRequest, ListedBeside, OpenHook } from '../call.ts';
import { parseWakeTime } from '../duration.ts';
import type { HookEvent, HookEvents, HookWait, NewHook } from '../journal/hooks.ts';
import { newToken, newWebhookToken } from '../ids.ts';
import { LISTED_BYTES } from '../journal/reading.ts';
import { decode, encode, encodeUncompared } from '../serialize.ts';

/** The hooks of one run in memory: those to be stored, those refused, and what has come in. */
export interface RunHooks {
  /** Makes a hook, or finds it again on replay; `fresh`: it has no record yet. */
  open(made: MadeHook): { hook: OpenHook; fresh: boolean };
  /** What the next append has to store. */
  take(): NewHook[];
  readonly hasFresh: boolean;
  /** The body waits for a resume. `isKept`: the run this one is a retry of has had it. */
  wait(wait: HookWait, isKept: boolean): void;
  /** The body has been given the resume. */
  taken(wait: HookWait): void;
  /** Of each token of which the body has been given a resume, the first in the journal that it has not been. */
  listUnread(): HookWait[];
  /** Other runs have these tokens. */
  refuse(tokens: readonly string[]): void;
  isRefused(token: string): boolean;
  /** What is to be read of the journal for these waits. */
  toRead(waits: readonly HookWait[]): HookWait[];
  /** What has been read for the waits; of a hook that is not stored yet, `missing` says nothing. */
  load(waits: readonly HookWait[], read: HookEvents): void;
  /** The resume, if it has been read. */
  find(wait: HookWait): HookEvent | undefined;
  /** There may be more resumes of the token than have been read, now that so many signals are taken into account. */
  mayHaveMore(token: string, signals: number): boolean;
}

export interface MadeHook {
  call: number;
  request: HookRequest;
  history: CallHistory | undefined;
  beside?: ListedBeside | undefined;
  /** The store's clock. */
  now: number;
  /** Signals of the run that are taken into account. */
  signals: number;
}

export interface RunHooksOptions {
  /** Called when there is something to store. */
  onChange(): void;
  /** The run began with another run's records: hooks in them are stored again, as its own. */
  isCopy: boolean;
  /** The run has continued another, and has what that left of its hooks. */
  isNext: boolean;
}

export function createRunHooks({ onChange, isCopy, isNext }: RunHooksOptions): RunHooks {
  const refused = new Set<string>();
  const tokens = new Map<string, TokenState>();
  let fresh: FreshHook[] = [];
  const stateOf = (token: string, readAt = -1): TokenState => {
    const known = tokens.get(token);
    if (known) return known;
    const made = { waits: 0, taken: 0, kept: 0, events: new Map<number, HookEvent>(), hasMore: false, readAt };
    tokens.set(token, made);
    return made;
  };
  const store = (made: FreshHook) => {
    if (!fresh.includes(made)) fresh.push(made);
    onChange();
  };
  return {
    open({ call, request, history, beside, now, signals }) {
      const known = history?.set?.output;
      const recorded = known ? (decode(known) as { token: string; expiresAt: number | null }) : undefined;
      const token = recorded?.token ?? request.token ?? makeToken(request);
      const expiresAt = recorded ? recorded.expiresAt : expiryOf(request, now);
      const detail = detailOf(request, expiresAt);
      // Nothing has come for a token that is new, but what was left of it where the run has continued another.
      const { waits: since, kept } = stateOf(token, recorded || isNext ? undefined : signals);
      const hook: NewHook = { token, call, kind: request.kind, many: false, detail, since: Math.max(0, since - kept) };
      const made = { hook, since };
      if (!recorded || isCopy) {
        hook.brief = briefOf(request, { expiresAt, detail, beside });
        store(made);
      }
      return {
        fresh: !recorded,
        hook: {
          token,
          call,
          since,
          expiresAt,
          keepAll() {
            if (hook.many) return;
            hook.many = true;
            store(made);
          },
        },
      };
    },
    take() {
      // A hook that has had its one resume in the run before is not opened again.
      const taken = fresh.filter(({ hook, since }) => hook.many || since >= stateOf(hook.token).kept);
      fresh = [];
      return taken.map(({ hook }) => ({ ...hook }));
    },
    get hasFresh() {
      return fresh.length > 0;
    },
    wait({ token, n }, kept) {
      const state = stateOf(token);
      state.waits = Math.max(state.waits, n + 1);
      // Whoever waits for this one has had the one before.
      state.events.delete(n - 1 - state.kept);
      if (kept) state.kept += 1;
    },
    taken({ token, n }) {
      const state = stateOf(token);
      state.taken = Math.max(state.taken, n + 1);
    },
    listUnread: () =>
      [...tokens].flatMap(([token, { taken, kept }]) => (taken > kept ? [{ token, n: taken - kept }] : [])),
    refuse(given) {
      for (const token of given) refused.add(token);
    },
    isRefused: (token) => refused.has(token),
    toRead: (waits) => waits.map(({ token, n }) => ({ token, n: n - stateOf(token).kept })),
    load(waits, { signals, events, more, missing }) {
      for (const { token } of waits) stateOf(token).readAt = signals;
      for (const [token, list] of groupByToken(events)) {
        const state = stateOf(token);
        for (const event of list) state.events.set(event.n, event);
        state.hasMore = more.includes(token);
      }
      // A hook with a record and without a row was refused in an earlier life of the run.
      for (const token of missing) if (!fresh.some(({ hook }) => hook.token === token)) refused.add(token);
    },
    find({ token, n }) {
      const { events, kept } = stateOf(token);
      return events.get(n - kept);
    },
    mayHaveMore(token, signals) {
      const state = stateOf(token);
      const { hasMore, readAt } = state;
      state.hasMore = false;
      return hasMore || readAt < signals;
    },
  };
}

// --- internal ---

interface TokenState {
  /** Resumes the body has waited for. */
  waits: number;
  /** Resumes the body has been given. */
  taken: number;
  /** How many of them the run this one is a retry of has had. */
  kept: number;
  /** Those read that the body may still wait for, by `n`. */
  events: Map<number, HookEvent>;
  hasMore: boolean;
  /** The signals of the run when they were last read. */
  readAt: number;
}

interface FreshHook {
  hook: NewHook;
  /** Counted with the resumes of the run this one is a retry of. */
  since: number;
}

function makeToken({ kind, scope = '' }: HookRequest): string {
  return kind === 'webhook' ? newWebhookToken() : scope + newToken();
}

function expiryOf({ timeout }: HookRequest, now: number): number | null {
  return timeout === undefined ? null : parseWakeTime(timeout, now);
}

function detailOf({ detail }: HookRequest, expiresAt: number | null): string | null {
  if (expiresAt !== null) return encode({ ...(detail as object), expiresAt }, 'detail');
  return detail === undefined ? null : encode(detail, 'detail');
}

interface Detailed {
  expiresAt: number | null;
  detail: string | null;
  beside: ListedBeside | undefined;
}

/** Of an approval whose payload is too large for a list: all but that, and its beginning as it is recorded. */
function briefOf({ kind, detail: given }: HookRequest, { expiresAt, detail, beside }: Detailed): string | null {
  if (kind !== 'approval' || detail === null || detail.length * LONGEST_UNIT <= LISTED_BYTES) return null;
  const { payload, ...rest } = given as { payload?: unknown };
  const text = encodeUncompared(payload, 'payload');
  // Without the sign of its format.
  if (Buffer.byteLength(text) - 1 <= LISTED_BYTES) return null;
  const expiry = expiresAt === null ? {} : { expiresAt };
  return encode({ ...rest, ...beside?.(), ...expiry, cutPayload: text.slice(0, LISTED_BYTES / 2) }, 'detail');
}

/** Bytes of UTF-8 that one unit of a text takes at most. */
const LONGEST_UNIT = 3;

function groupByToken(events: readonly HookEvent[]): Map<string, HookEvent[]> {
  const groups = new Map<string, HookEvent[]>();
  for (const event of events) {
    const group = groups.get(event.token);
    if (group) group.push(event);
    else groups.set(event.token, [event]);
  }
  return groups;
}
