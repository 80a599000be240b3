import { readReplies } from '../agents/reading/recorded-messages.ts';
import type { TurnInput } from '../agents/turn/input.ts';
import type { TurnOutput } from '../agents/turn/options.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { isFinal } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';
import { toCanonicalText, toShownValue } from '../json-value.ts';
import { toRunError } from '../runs/run-error.ts';

export interface ObservedCall {
  tool: string;
  arguments: unknown;
}

/** What a run has done, as scorers see it. */
export interface Observed {
  runId: string;
  /** Of an agent: its answer by its schema, or its text. */
  output: unknown;
  text: string;
  /** What ended it otherwise than with an answer. */
  error: string | null;
  /** In the order in which models asked for them. */
  calls: ObservedCall[];
  /** With those of the runs below it. */
  inputTokens: number;
  outputTokens: number;
  /** Null: it has not ended, or has never begun. */
  latencyMs: number | null;
}

export type Observe = (runId: string) => Promise<Observed | undefined>;

export interface ObserveOptions {
  journal: Pick<Journal, 'getLastRun' | 'getRecords' | 'listRuns'>;
  engine: Pick<Engine, 'whole'>;
}

/** Reads runs and what they started, of the journal. Undefined: there is no such run. */
export function createObserve({ journal, engine }: ObserveOptions): Observe {
  return async (runId) => {
    const run = await journal.getLastRun(runId);
    if (!run) return undefined;
    const runs = [run, ...(await listBelow(journal, runId))];
    const calls: ObservedCall[] = [];
    for (const one of runs) if (one.kind === 'agent') calls.push(...(await listCalls(journal, one)));
    const { output, text } = await readOutput(run, engine);
    const { startedAt, endedAt } = run;
    return {
      runId,
      output,
      text,
      error: isFinal(run.status) && run.status !== 'completed' ? explain(run) : null,
      calls,
      inputTokens: sum(runs, 'inputTokens'),
      outputTokens: sum(runs, 'outputTokens'),
      latencyMs: startedAt === null || endedAt === null ? null : Math.round(endedAt - startedAt),
    };
  };
}

// --- internal ---

/** Runs below one that are looked at. */
const MOST_BELOW = 200;

async function listBelow(journal: ObserveOptions['journal'], runId: string): Promise<RunRow[]> {
  const found: RunRow[] = [];
  const open = [runId];
  for (let id = open.shift(); id !== undefined && found.length < MOST_BELOW; id = open.shift()) {
    const below = await journal.listRuns({ parentRunId: id }, { limit: MOST_BELOW - found.length });
    found.push(...below.reverse());
    open.push(...below.map((run) => run.runId));
  }
  return found;
}

async function listCalls(journal: ObserveOptions['journal'], run: RunRow): Promise<ObservedCall[]> {
  const replies = readReplies(decode(run.input) as TurnInput, await journal.getRecords(run.runId));
  return replies.flatMap(({ toolCalls }) =>
    toolCalls.map((call) => ({ tool: call.name, arguments: parseArguments(call.arguments) })),
  );
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text || '{}');
  } catch {
    return text;
  }
}

async function readOutput(
  run: RunRow,
  { whole }: ObserveOptions['engine'],
): Promise<Pick<Observed, 'output' | 'text'>> {
  if (run.output === null) return { output: null, text: '' };
  const value = toShownValue(await whole(run.output));
  if (run.kind === 'workflow')
    return { output: value, text: typeof value === 'string' ? value : toCanonicalText(value) };
  const { content = '', output = content } = (value ?? {}) as Partial<TurnOutput>;
  return { output, text: content };
}

function explain({ status, error }: RunRow): string {
  const said = error === null ? undefined : toRunError(error);
  return said ? `${said.code ?? said.name}: ${said.message}` : `The run was ${status}.`;
}

function sum(runs: readonly RunRow[], member: 'inputTokens' | 'outputTokens'): number {
  return runs.reduce((total, run) => total + run[member], 0);
}
