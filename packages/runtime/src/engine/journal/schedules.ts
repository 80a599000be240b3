import type { RunStatus } from './run.ts';

/** A timer that starts a workflow. */
export interface Schedule {
  /** `<workflow>:<number or name>` of a declared one, `<workflow>@<name>` of one that code made. */
  id: string;
  name: string;
  /** Null: it fires once. */
  cron: string | null;
  timeZone: string | null;
  input: string;
  /** Null: it has fired its one time. */
  nextAt: number | null;
  isPaused: boolean;
  origin: 'declared' | 'made';
  /** Of one that code made, what it was made from: the same again changes nothing. Of a declared one, the code that did. */
  digest: string;
  /** Who has armed or resumed it over MCP, as JSON text; null: neither was asked for there. */
  armedBy: string | null;
  createdAt: number;
  lastAt: number | null;
  /** What it last started, and the present state of that run; null: nothing, or it has been deleted. */
  lastRunId: string | null;
  lastStatus: RunStatus | null;
  /** Why it last started nothing, as codec text. */
  lastError: string | null;
}

export type DeclaredSchedule = Pick<Schedule, 'id' | 'name' | 'timeZone' | 'input'> & {
  cron: string;
  nextAt: number;
  /** The code that declares it. Default: '', which is no code. */
  codeHash?: string;
};
export type ScheduleTimes = Pick<Schedule, 'cron' | 'timeZone'>;
export type MadeSchedule = Pick<Schedule, 'id' | 'name' | 'cron' | 'timeZone' | 'input' | 'digest'> & {
  nextAt: number;
  /** Default: null. */
  armedBy?: string | null;
};

/** The outcome of a firing: a run, a start that waits in a queue, or an error. */
export interface NewFiring {
  at: number;
  runId: string | null;
  triggerId?: string | null;
  error?: string | null;
}

/** A timer that one replica leaves to the others. */
export interface LeftSchedule {
  id: string;
  expected: number;
  error: string;
}

export interface Firing {
  at: number;
  runId: string | null;
  status: RunStatus | null;
  error: string | null;
}

export interface ScheduleStore {
  /** By id; `after` is the last id of the page before. */
  list(filter?: { name?: string }, page?: { limit: number; after?: string }): Promise<Schedule[]>;
  find(id: string): Promise<Schedule | undefined>;
  /**
   * Makes the declared schedules those given: new ones with their `nextAt`, changed ones (cron, zone or input) with the
   * new `nextAt` unless they are due, unchanged ones as they are (pause, last and next kept). Others are gone: no list has
   * them and they do not fire, but declared again they have their pause. Those that code made stay. False: what is stored
   * under one of the ids by now is another timer.
   */
  reconcile(schedules: DeclaredSchedule[]): Promise<boolean>;
  /** Every declared schedule, also those that are gone. */
  listDeclared(): Promise<(Required<DeclaredSchedule> & { isGone: boolean })[]>;
  /** Arms a timer. One of the same id and digest stays as it is, also when it has fired; of another digest is replaced. */
  make(schedule: MadeSchedule): Promise<Schedule>;
  remove(id: string): Promise<boolean>;
  /**
   * Takes those that are not paused and due, earliest first, for so long: until then, `giveBack` or `advance`, no other process
   * gets them. `passed`: ids that are left to others. None is taken behind those whose inputs have `mostBytes` together, as they
   * are stored: so it is at least one, whatever its input.
   */
  takeDue(limit: number, holdMs: number, passed?: readonly string[], mostBytes?: number): Promise<Schedule[]>;
  /** Those that still are due at `expected` are due for others at once; `error`, as codec text, is why it has not fired yet. */
  giveBack(left: readonly LeftSchedule[]): Promise<void>;
  /**
   * Moves `nextAt` on if it still is `expected`, and its times still are these, where they are given: one of many replicas gets
   * true.
   */
  advance(
    id: string,
    expected: number,
    nextAt: number | null,
    fired: NewFiring,
    times?: ScheduleTimes,
  ): Promise<boolean>;
  /** A firing outside of the schedule. What it started is noted once. */
  noteFiring(id: string, fired: NewFiring): Promise<void>;
  /** Newest first; the last 20 are kept. */
  listFirings(id: string): Promise<Firing[]>;
  /** False: there is none, or it is that already. `armedBy` takes the place of what is kept, once it goes on. */
  setPaused(id: string, isPaused: boolean, nextAt: number, armedBy?: string | null): Promise<boolean>;
  /** Removes made ones that fired their one time before then, and declared ones that were gone before `goneBefore`. */
  forgetSpent(before: number, goneBefore: number): Promise<void>;
}
