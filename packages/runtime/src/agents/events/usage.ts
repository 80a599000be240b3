import type { JournalRecord } from '../../engine/journal/record.ts';
import type { Tokens } from '../../engine/journal/run.ts';
import { decode } from '../../engine/serialize.ts';
import { NO_USAGE } from './turn-events.ts';
import type { Usage } from './turn-events.ts';

export function addUsage(a: Usage, b: Usage, sign: 1 | -1 = 1): Usage {
  return {
    inputTokens: a.inputTokens + sign * b.inputTokens,
    outputTokens: a.outputTokens + sign * b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + sign * b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + sign * b.cacheWriteTokens,
    reasoningTokens: a.reasoningTokens + sign * b.reasoningTokens,
  };
}

export function subtractUsage(a: Usage, b: Usage): Usage {
  return addUsage(a, b, -1);
}

/** What the model calls have used that are recorded. */
export function sumUsage(records: readonly JournalRecord[]): Usage {
  return records
    .filter(({ kind, event, output }) => kind === 'model' && event === 'done' && output !== null)
    .reduce((sum, { output }) => addUsage(sum, (decode(output ?? '') as { usage: Usage }).usage), NO_USAGE as Usage);
}

/** As a run counts them. */
export function toTokens(usage: Usage): Tokens {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, totalTokens: inputTokens + outputTokens };
}
