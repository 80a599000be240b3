import { askAboutText } from '../approvals/held-text.ts';
import type { HeldBy } from '../approvals/held-text.ts';
import { toShownInput } from '../approvals/shown-input.ts';
import { heldOf } from '../engine/box-marks.ts';
import type { RunHandle } from '../engine/handle.ts';
import { bodyOf } from '../engine/primitives/hook.ts';
import { requireApproved } from '../guardrails/refusal.ts';

/**
 * Waits for the decision about the input of a run, before anything of its workflow is executed. Throws
 * `workflow_guardrail_blocked` where it is refused. Undefined: nothing holds it. The input that a run continues with is not
 * that of a start.
 */
export function holdStart(workflow: string, input: unknown): Promise<void> | undefined {
  const execution = bodyOf('workflow');
  const heldBy = execution.run.continuedFrom === null ? (heldOf(execution.run) as HeldBy | undefined) : undefined;
  return heldBy && waitFor(execution, { workflow, input, heldBy });
}

// --- internal ---

interface HeldStart {
  workflow: string;
  input: unknown;
  heldBy: HeldBy;
}

async function waitFor(execution: RunHandle, { workflow, input, heldBy }: HeldStart): Promise<void> {
  const { answer } = askAboutText(execution, {
    side: 'workflow-input',
    place: `workflow ${workflow}`,
    title: `Start "${workflow}" with this?`,
    payload: toShownInput({ workflow, input }),
    heldBy,
  });
  const held = `the input of workflow "${workflow}"`;
  requireApproved(await answer, { code: 'workflow_guardrail_blocked', held, by: heldBy });
}
