import type { RunRow, Tokens } from '../engine/journal/run.ts';
import type { Mask } from '../mask.ts';
import { placeOfRun } from './ids.ts';
import { GEN_AI, RUN } from './names.ts';
import type { ProviderFacts } from './provider-name.ts';
import type { Attributes, SpanData, SpanLink } from './span.ts';
import { toSpanError } from './span-error.ts';

export interface RunSpanOptions {
  provider: ProviderFacts;
  mask: Mask;
  /** The request that started it, where this process knows it. */
  startedBy?: SpanLink | undefined;
}

/** The span of a run that is over. Made of its row alone, so whichever process ends it exports the whole of it. */
export function toRunSpan(run: RunRow, { provider, mask, startedBy }: RunSpanOptions): SpanData {
  const { runId, kind, name, createdAt, startedAt, endedAt, status } = run;
  const start = startedAt ?? createdAt;
  return {
    ...placeOfRun(runId),
    name: `${OPERATIONS[kind]} ${name}`,
    kind: 'internal',
    start,
    end: Math.max(start, endedAt ?? start),
    attributes: {
      ...attributesOf(run),
      ...(kind === 'agent' ? { [GEN_AI.agent]: name, [GEN_AI.provider]: provider.name } : {}),
      ...usageOf(run),
    },
    links: [...relativesOf(run), ...(startedBy ? [startedBy] : [])],
    ...(status === 'failed' ? { error: toSpanError(run.error, mask) } : {}),
  };
}

/** Tokens as the conventions name them; none: nothing was asked of a model. */
export function usageOf(tokens: Omit<Tokens, 'totalTokens'>): Attributes {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = tokens;
  if (inputTokens + outputTokens === 0) return {};
  return {
    [GEN_AI.inputTokens]: inputTokens,
    [GEN_AI.outputTokens]: outputTokens,
    [GEN_AI.cacheReadTokens]: cacheReadTokens,
    [GEN_AI.cacheWriteTokens]: cacheWriteTokens,
  };
}

// --- internal ---

const OPERATIONS = { agent: 'invoke_agent', workflow: 'invoke_workflow' } as const;

function attributesOf({ runId, kind, name, trigger, status, sessionId }: RunRow): Attributes {
  return {
    [GEN_AI.operation]: OPERATIONS[kind],
    [RUN.id]: runId,
    [RUN.kind]: kind,
    [RUN.name]: name,
    [RUN.trigger]: trigger,
    [RUN.status]: status,
    ...(sessionId === null ? {} : { [GEN_AI.conversation]: sessionId }),
  };
}

/** Runs are traces of their own: what is above one, and what it repeats, is linked. */
function relativesOf({ parentRunId, retryOf }: RunRow): SpanLink[] {
  const parent =
    parentRunId === null ? [] : [{ ...placeOfRun(parentRunId), attributes: { [RUN.parent]: parentRunId } }];
  const before = retryOf === null ? [] : [{ ...placeOfRun(retryOf), attributes: { [RUN.retryOf]: retryOf } }];
  return [...parent, ...before];
}
