import { toHeldBy } from '../approvals/held-text.ts';
import type { HeldBy } from '../approvals/held-text.ts';
import { askedByOf } from '../engine/box-marks.ts';
import { currentContext } from '../engine/context.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import { judgeValue } from '../guardrails/judge.ts';
import { toRefusal } from '../guardrails/refusal.ts';
import { onlyMasks } from '../guardrails/rules.ts';

/** What a start asks of the rules. */
export type StartGuardrails = Pick<Guardrails, 'rules' | 'record'>;

/** An input as it may be recorded, and what has it wait for an operator. */
export interface JudgedStart {
  value: unknown;
  heldBy: HeldBy | undefined;
}

/**
 * The input as it may be recorded. Throws `workflow_guardrail_blocked`, which names the rule, and `store_unavailable` while
 * the rules cannot be read.
 */
export async function judgeStart(
  guardrails: StartGuardrails | undefined,
  name: string,
  input: unknown,
): Promise<JudgedStart> {
  const asked = guardrails?.rules();
  const all = asked instanceof Promise ? await asked : asked;
  const rules = all?.find({ kind: 'workflow', name }, 'workflow-input');
  if (!guardrails || !rules) return { value: input, heldBy: undefined };
  const run = currentContext()?.execution.run;
  const askedBy = run && askedByOf(run);
  const { value, blocked, held, found } = await judgeValue(rules, input);
  guardrails.record(found, { side: rules.side, place: rules.place, runId: null, askedBy });
  if (!blocked) return { value, heldBy: held && toHeldBy(held) };
  throw toRefusal(
    'workflow_guardrail_blocked',
    `refuses the input of workflow "${name}". Send one without what it looks for.`,
    blocked,
  );
}

/**
 * The payload of an event as it may be recorded: without what is masked of the input of `carrier`, the workflow that delivers
 * it, and of those that start by it. What else those are refused for is theirs. Throws `workflow_guardrail_blocked` where a
 * check that masks fails, and `store_unavailable`.
 */
export async function maskPayload(
  guardrails: StartGuardrails | undefined,
  { event, carrier, starts }: { event: string; carrier: string; starts: readonly string[] },
  payload: unknown,
): Promise<unknown> {
  const asked = guardrails?.rules();
  const all = asked instanceof Promise ? await asked : asked;
  if (!guardrails || !all) return payload;
  const run = currentContext()?.execution.run;
  const askedBy = run && askedByOf(run);
  let passed = payload;
  for (const name of [carrier, ...starts]) {
    const rules = all.find({ kind: 'workflow', name }, 'workflow-input');
    if (!rules?.all.some(({ action }) => action === 'mask')) continue;
    const { value, blocked, found } = await judgeValue(onlyMasks(rules), passed);
    guardrails.record(found, { side: rules.side, place: rules.place, runId: null, askedBy });
    if (blocked)
      throw toRefusal('workflow_guardrail_blocked', `cannot judge the payload of event "${event}".`, blocked);
    passed = value;
  }
  return passed;
}
