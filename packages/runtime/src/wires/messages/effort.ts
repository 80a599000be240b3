import { BoxError } from '../../errors.ts';

/**
 * How hard the model is to think, as the provider is asked: `output_config.effort`, or what the budget of `thinking` comes
 * to. Undefined: the request says nothing of it, and leaves it to the model.
 */
export function toHints({ output_config: config, thinking }: Asked): { reasoning_effort: string } | undefined {
  const { type, budget_tokens: budget } = (thinking ?? {}) as { type?: unknown; budget_tokens?: unknown };
  if (thinking !== undefined && thinking !== null && !KINDS.has(type))
    throw invalid(
      'thinking',
      '"thinking" must be {type: "enabled", budget_tokens}, {type: "adaptive"} or {type: "disabled"}.',
    );
  const { effort } = (config ?? {}) as { effort?: unknown };
  if (effort !== undefined && effort !== null) return { reasoning_effort: toEffort(effort) };
  return type === 'enabled' ? { reasoning_effort: ofBudget(budget) } : undefined;
}

// --- internal ---

interface Asked {
  output_config?: unknown;
  thinking?: unknown;
}

const KINDS: ReadonlySet<unknown> = new Set(['enabled', 'adaptive', 'disabled']);

/** The words of this format that providers of chat completions do not all know. */
const MOST = new Set(['xhigh', 'max']);

/** Tokens below which a budget is for little or for some thinking. */
const LITTLE = 4_096;
const SOME = 16_384;

function toEffort(effort: unknown): string {
  if (typeof effort !== 'string' || effort === '')
    throw invalid('output_config.effort', '"output_config.effort" must be low, medium, high, xhigh or max.');
  return MOST.has(effort) ? 'high' : effort;
}

function ofBudget(budget: unknown): string {
  if (!Number.isInteger(budget) || (budget as number) < 1)
    throw invalid(
      'thinking.budget_tokens',
      '"thinking.budget_tokens" is required where thinking is enabled, and must be a whole number of at least 1.',
    );
  if ((budget as number) < LITTLE) return 'low';
  return (budget as number) < SOME ? 'medium' : 'high';
}

function invalid(param: string, message: string): BoxError {
  return new BoxError('invalid_request', message, { details: { param } });
}
