import { toRunId, toTraceId } from '../ids.ts';
import type { RunRow } from '../journal/run.ts';

/** What a body's randomness and its first time come from, and the keys of its steps. */
export interface Seed {
  /** Drawn from until the body has made the call of the first turn. 32 hex digits, as those of the turns. */
  first: string;
  startedAt: number;
  /** Of a fork: drawn from once the body has made that call, which is the first that is not its source's. Of forks of forks several. */
  turns: readonly { call: number; seed: string }[];
}

type Seeded = Pick<RunRow, 'seed' | 'traceId' | 'createdAt'>;

/** `<trace>:<time>`, and for each fork `:<trace>:<call>`. */
export function readSeed({ seed, traceId, createdAt }: Seeded): Seed {
  const [first = traceId, time, ...rest] = seed?.split(':') ?? [];
  const turns: { call: number; seed: string }[] = [];
  for (let at = 0; at + 1 < rest.length; at += 2) turns.push({ seed: rest[at] ?? '', call: Number(rest[at + 1]) });
  return { first, startedAt: time === undefined ? createdAt : Number(time), turns };
}

/** When the first of the runs began whose records this one has. */
export function startedAtOf(run: Seeded): number {
  return run.seed === null ? run.createdAt : readSeed(run).startedAt;
}

/** The seed of a retry that keeps records: what is drawn and what is executed again is as it was. */
export function keptSeed(run: Seeded): string {
  return run.seed ?? `${run.traceId}:${run.createdAt}`;
}

/**
 * The seed of a fork: up to its call the source's draws, which are in the arguments it keeps, from there on its own. Its steps
 * have keys of their own, too: it is another run, and what it executes again is another effect.
 */
export function forkedSeed(run: Seeded, { runId, call }: { runId: string; call: number }): string {
  const { first, startedAt, turns } = readSeed(run);
  const before = turns.filter((turn) => turn.call < call);
  const all = [...before, { seed: toTraceId(runId), call }];
  return [first, startedAt, ...all.flatMap((turn) => [turn.seed, turn.call])].join(':');
}

/** The run whose id is in the keys of the steps: of retries that keep records that of the first of them. */
export function keyRunId(run: Pick<RunRow, 'runId' | 'seed'>): string {
  if (run.seed === null) return run.runId;
  const { first, turns } = readSeed({ ...run, traceId: '', createdAt: 0 });
  return toRunId(turns.at(-1)?.seed ?? first);
}
