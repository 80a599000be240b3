import type { RunRow } from './journal/run.ts';

/** One of the people behind a client. */
export interface EndUser {
  id: string;
  name?: string;
  /** What the client says of them. */
  data?: Record<string, unknown>;
}

/** Who made a run begin, as code in the run may know it. What the run starts has the same. */
export interface StartedBy {
  /** `box`: a timer, or code of the box that no request has made run. */
  kind: 'person' | 'key' | 'user' | 'box';
  /** A person's `sub`, the id of a key, what the client calls its user. */
  id: string;
  /** The application that calls: of a key and of a user. Keys with the same one are one owner. */
  client: string | null;
  /** The id of the key that let it in: of a key and of a user. Null: none, or a run from before it was kept. */
  key: string | null;
  user: EndUser | null;
  /** Of a person. */
  role: string | null;
  name: string;
  /** It was asked for over MCP, or by the copilot: by a model of the caller. */
  via?: 'mcp' | 'copilot';
  /** The run repeats one of whoever this is, and this caller asked for that. */
  retriedBy?: BareStartedBy;
  /** A timer made it begin that these had armed, or resumed, through a model. */
  armedBy?: BareStartedBy[];
}

type BareStartedBy = Omit<StartedBy, 'retriedBy' | 'armedBy'>;

/** What code in a run may know of its caller. */
export interface RunContext {
  caller: StartedBy;
  /** The end user; null: none. */
  user: EndUser | null;
}

/** No caller's request. */
export const STARTED_BY_BOX: StartedBy = Object.freeze({
  kind: 'box',
  id: 'box',
  client: null,
  key: null,
  user: null,
  role: null,
  name: 'the box',
});

/** Who made the run begin, as its code sees it. */
export function contextOf(run: Pick<RunRow, 'startedBy'>): RunContext {
  const caller = startedByOf(run) ?? STARTED_BY_BOX;
  return { caller, user: caller.user };
}

/** Those for whom a model has asked for it, as whoever makes a run begin, repeats one or arms a timer. */
export function listModelCallers(startedBy: StartedBy | undefined): BareStartedBy[] {
  if (!startedBy) return [];
  const { retriedBy, armedBy = [], ...by } = startedBy;
  return [by, ...(retriedBy ? [retriedBy] : []), ...armedBy].filter(({ via }) => via !== undefined);
}

export function isSameCaller(one: BareStartedBy, other: BareStartedBy): boolean {
  return one.kind === other.kind && one.id === other.id && one.client === other.client;
}

/** What the retry of a run keeps: who made that begin, and who asked for it once more. */
export function toRetriedBy(run: Pick<RunRow, 'startedBy'>, retriedBy: BareStartedBy): StartedBy {
  return { ...(startedByOf(run) ?? STARTED_BY_BOX), retriedBy };
}

/** Undefined: the box itself, or a run from before it was kept. */
export function startedByOf({ startedBy }: Pick<RunRow, 'startedBy'>): StartedBy | undefined {
  return startedBy === null ? undefined : { ...NO_KEY, ...(JSON.parse(startedBy) as StartedBy) };
}

// --- internal ---

const NO_KEY = { key: null };
