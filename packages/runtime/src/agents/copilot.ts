import { BoxError } from '../errors.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import type { StepBudget } from './turn/options.ts';

/** 40 steps: a call of the model is one, and the tools it asks for are one. */
const COPILOT_BUDGET: StepBudget = { modelCalls: 20, steps: 40, reopens: true };

/** The tool whose rejection ends the turn. */
export const CONFIRM_TOOL = 'confirm_operation';

export function budgetOf(agent: string): { budget?: StepBudget } {
  return agent === COPILOT_AGENT ? { budget: COPILOT_BUDGET } : {};
}

export function copilotDisabled(): BoxError {
  return new BoxError(
    'copilot_disabled',
    'The Studio copilot is switched off. An owner or admin switches it on in Settings, or with PUT /api/settings/copilot.',
  );
}
