import type { ValueDigest } from './digest.ts';
export type HookKind = 'hook' | 'webhook' | 'approval' | 'event';

export interface NewHook {
  /** Names the hook to the outside; only one open hook has it. */
  token: string;
  /** The call of the body that made the hook. */
  call: number;
  kind: HookKind;
  /** False: one resume, any further one is answered with the first. True: each resume is kept, in order. */
  many: boolean;
  /** What its creator gave with it, as codec text. */
  detail: string | null;
  /** What lists read in the place of a detail that is large. Absent: they read the detail. */
  brief?: string | null;
  /** The `n` of its first resume: a hook that is made again in a run goes on behind those of the one before. */
  since: number;
}

export interface HookRow extends Omit<NewHook, 'brief'> {
  runId: string;
  /** A hook is open until its run is final. */
  isOpen: boolean;
  /** What its first resume amounts to, in the words of who resumed it: `approved`. Lists find hooks by it. */
  verdict: string | null;
  createdAt: number;
}

/** A hook with its state: open or not, and its first resume. */
export interface HookEntry {
  hook: HookRow;
  first: HookEvent | undefined;
  /** Of its run. */
  sessionId: string | null;
}

export interface HookFilter {
  kind: HookKind;
  token?: string;
  runId?: string;
  /** Open and not resumed, or all others. */
  isPending?: boolean;
  verdict?: string;
  /** Closed without a resume. */
  isCancelled?: boolean;
  /** The application, and the end user, on whose behalf their runs were started. */
  client?: string;
  user?: string;
}

/** A hook that waits for an event. */
export interface OpenWait {
  token: string;
  /** As codec text. */
  detail: string | null;
  /** Of its run: who made it begin, as JSON text. */
  startedBy: string | null;
}

/** A place in a list of hooks. */
export type HookPlace = Pick<HookRow, 'createdAt' | 'runId' | 'token'>;

export interface ResumeOptions {
  verdict?: string;
  /** The same key with the same digest answers the resume it made again for 24 hours; with another digest it is refused. */
  idempotency?: { key: string } & ValueDigest;
  /** A hook that has been given so many is `full`. */
  most?: number;
}

/** One resume of a hook. */
export interface HookEvent {
  token: string;
  /** 0, 1, 2 … per run and token. */
  n: number;
  payload: string;
  at: number;
}

export type ResumeResult =
  | { outcome: 'resumed'; hook: HookRow; event: HookEvent }
  /** The idempotency key has made this resume before. */
  | { outcome: 'repeated'; hook: HookRow; event: HookEvent }
  /** The idempotency key has resumed this hook with another digest. */
  | { outcome: 'idempotency_conflict' }
  /** It has had its one resume: this one. That stays the answer once its run is final. */
  | { outcome: 'already'; hook: HookRow; event: HookEvent }
  /** Its run is final. */
  | { outcome: 'closed'; hook: HookRow }
  /** It has been given as many as `most` says. */
  | { outcome: 'full' };

export interface HookStore {
  /** Records the resume and signals the run, in one commit. Undefined: no such hook. */
  resume(token: string, payload: string, options?: ResumeOptions): Promise<ResumeResult | undefined>;
  /** It takes no more resumes, and its token is free; unless the run has made it again, in a later `call`. */
  close(runId: string, token: string, call: number): Promise<void>;
  /** The open hook of the token, else the newest closed one. */
  find(token: string): Promise<HookRow | undefined>;
  /** How many resumes the open hook of the token has had. Undefined: there is none. */
  countGiven(token: string): Promise<{ runId: string; given: number } | undefined>;
  /** How many resumes of its hooks the run has taken, of all of them together. */
  countTaken(runId: string): Promise<number>;
  /** Those that wait for an event whose tokens begin with `scope`, made no later than `until`, by token from behind `after`. */
  listOpen(filter: { scope: string; until: number }, page: { limit: number; after: string }): Promise<OpenWait[]>;
  /** Newest first, each with its first resume; `after` is the last of the page before. */
  listEntries(filter: HookFilter, page: { limit: number; after?: HookPlace }): Promise<HookEntry[]>;
  /** The same, with what lists read in the place of a detail that is large. */
  listBriefEntries(filter: HookFilter, page: { limit: number; after?: HookPlace }): Promise<HookEntry[]>;
  /** The resumes a run waits for, and its `signals` as of no later than they were read. */
  listEvents(runId: string, waits: readonly HookWait[]): Promise<HookEvents>;
}

/** A hook of a run, and the first of its resumes that is of interest. */
export interface HookWait {
  token: string;
  n: number;
}

export interface HookEvents {
  signals: number;
  /** Of each token at most `MAX_EVENTS`, and of large ones at most `MAX_LARGE_EVENTS`, by token and `n`. */
  events: HookEvent[];
  /** Tokens of which there may be more. */
  more: string[];
  /** Tokens of which the run has no hook. */
  missing: string[];
}

/** So many resumes of one hook are read at once. */
export const MAX_EVENTS = 100;

/** The payloads of so many may be as large as they come. */
export const MAX_LARGE_EVENTS = 8;
/** Characters of a payload of which `MAX_EVENTS` are read at once. */
export const SMALL_EVENT = 65_536;
