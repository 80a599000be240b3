import { toCanonicalText } from '../../json-value.ts';
import type { ObservedCall } from '../observed.ts';
import type { ExpectedCall, ScorerOf } from '../scorer.ts';
import { toVerdict } from './verdict.ts';
import type { Subject, Verdict } from './verdict.ts';

export function scoreTokens({ maxInput, maxOutput, maxTotal }: ScorerOf<'tokens'>, { observed }: Subject): Verdict {
  const { inputTokens, outputTokens } = observed;
  const over = [
    { what: 'input', got: inputTokens, max: maxInput },
    { what: 'output', got: outputTokens, max: maxOutput },
    { what: 'all', got: inputTokens + outputTokens, max: maxTotal },
  ].filter(({ got, max }) => max !== undefined && got > max);
  return toVerdict(over.length === 0, () =>
    over.map(({ what, got, max }) => `${what}: ${got} of ${max} tokens`).join('; '),
  );
}

export function scoreCost(
  { max, inputPerMillion, outputPerMillion }: ScorerOf<'cost'>,
  { observed }: Subject,
): Verdict {
  const cost = (observed.inputTokens * inputPerMillion + observed.outputTokens * outputPerMillion) / 1_000_000;
  return { ...toVerdict(cost <= max, () => ''), note: `It cost ${cost.toPrecision(3)} of ${max}.` };
}

export function scoreLatency({ maxMs }: ScorerOf<'latency'>, { observed }: Subject): Verdict {
  const { latencyMs } = observed;
  if (latencyMs === null) return toVerdict(false, () => 'It has not ended.');
  return toVerdict(latencyMs <= maxMs, () => `It took ${latencyMs} of ${maxMs} ms.`);
}

/** Of the calls that are expected, the share that was made. */
export function scoreTrajectory({ calls, mode, forbidden }: ScorerOf<'trajectory'>, { observed }: Subject): Verdict {
  const made = observed.calls;
  const refused = made.filter(({ tool }) => forbidden.includes(tool));
  if (refused.length > 0) return toVerdict(false, () => `It called ${listNames(refused)}.`);
  const met = mode === 'any-order' ? countAnywhere(calls, made) : countInOrder(calls, made);
  const isWhole = met === calls.length && (mode !== 'exact' || made.length === calls.length);
  if (isWhole) return { score: 1, passed: true };
  const wanted = Math.max(calls.length, mode === 'exact' ? made.length : 0);
  const note = `Expected ${listNames(calls)}, it called ${listNames(made)}.`;
  return { score: wanted === 0 ? 0 : met / wanted, passed: false, note };
}

// --- internal ---

function listNames(calls: readonly { tool: string }[]): string {
  const names = calls.slice(0, 10).map(({ tool }) => tool);
  if (calls.length > names.length) names.push(`${calls.length - names.length} more`);
  return names.length === 0 ? 'nothing' : names.join(', ');
}

function countInOrder(calls: readonly ExpectedCall[], made: readonly ObservedCall[]): number {
  let next = 0;
  for (const one of made) {
    const wanted = calls[next];
    if (wanted && isMet(wanted, one)) next++;
  }
  return next;
}

/** What asks for most is given a call first: one that any call would do for takes none from it. */
function countAnywhere(calls: readonly ExpectedCall[], made: readonly ObservedCall[]): number {
  const left = [...made];
  const strictFirst = [...calls].sort((a, b) => sizeOf(b) - sizeOf(a));
  return strictFirst.filter((wanted) => {
    const place = left.findIndex((one) => isMet(wanted, one));
    if (place >= 0) left.splice(place, 1);
    return place >= 0;
  }).length;
}

function sizeOf({ arguments: args }: ExpectedCall): number {
  return args === undefined ? 0 : toCanonicalText(args).length;
}

function isMet(wanted: ExpectedCall, made: ObservedCall): boolean {
  return wanted.tool === made.tool && (wanted.arguments === undefined || holds(made.arguments, wanted.arguments));
}

/** Whether a value has all that another says: of an object, its members. */
function holds(value: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted))
    return toCanonicalText(value) === toCanonicalText(wanted);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(wanted).every(
    ([name, inner]) => Object.hasOwn(value, name) && holds((value as Record<string, unknown>)[name], inner),
  );
}
