import type { StepContext } from '../../engine/context.ts';
import { real } from '../../engine/real.ts';
import type { DefinedScorer, ScorerSubject } from '../define-scorer.ts';
import { toGrade } from './verdict.ts';
import type { Subject, Verdict } from './verdict.ts';

/** What a scorer of the workspace's own says. It is a part of the step: `svc` is there, and what it uses counts for the run. */
export async function scoreByCode(
  { score, threshold, timeoutMs }: DefinedScorer,
  subject: Subject,
  step: StepContext,
): Promise<Verdict> {
  const late = new AbortController();
  const signal = AbortSignal.any([step.signal, late.signal]);
  let timer: ReturnType<typeof real.setTimeout> | undefined;
  const outOfTime = new Promise<never>((_, reject) => {
    timer = real.setTimeout(() => {
      late.abort();
      reject(new Error(`It gave no answer within ${timeoutMs} ms.`));
    }, timeoutMs);
  });
  const asked = async (): Promise<unknown> => score(toGiven(subject, signal));
  try {
    return toSaid(await step.runPart(() => Promise.race([asked(), outOfTime])), threshold);
  } finally {
    real.clearTimeout(timer);
  }
}

// --- internal ---

function toGiven({ input, expected, observed }: Subject, signal: AbortSignal): ScorerSubject {
  const { output, text, calls, inputTokens, outputTokens, latencyMs } = observed;
  const given = {
    input: 'value' in input ? input.value : 'before' in input ? input : input.message,
    expected: expected?.value,
    output,
    calls,
  };
  // A copy: the next scorer is asked about the same.
  return { ...structuredClone(given), text, inputTokens, outputTokens, latencyMs, signal };
}

function toSaid(answer: unknown, threshold: number): Verdict {
  if (typeof answer === 'boolean') return { score: answer ? 1 : 0, passed: answer };
  if (typeof answer === 'number') return toGrade(requireScore(answer), threshold);
  const { score, passed, note } = (answer ?? {}) as { score?: unknown; passed?: unknown; note?: unknown };
  if (typeof score !== 'number') throw new Error('Its answer is no score: a number from 0 to 1, true or false.');
  const graded = toGrade(requireScore(score), threshold, typeof note === 'string' ? note : undefined);
  return typeof passed === 'boolean' ? { ...graded, passed } : graded;
}

function requireScore(score: number): number {
  if (score >= 0 && score <= 1) return score;
  throw new Error(`Its answer is ${score}; a score is from 0 to 1.`);
}
