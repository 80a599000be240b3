import type { DeepAgentDefinition } from '../../definitions/agent.ts';
import type { JournalRecord } from '../../engine/journal/record.ts';
import { bodyOf } from '../../engine/primitives/hook.ts';
import { ONCE } from '../../engine/primitives/step.ts';
import { contextOf } from '../../engine/started-by.ts';
import { encode } from '../../engine/serialize.ts';

/** The step that a function of instructions is recorded as. */
const INSTRUCTIONS = 'instructions';

/** What a turn may have recorded before it: what it is asked may wait for an operator. */
const BEFORE_IT = new Set<JournalRecord['kind']>(['env', 'hook', 'approval']);

/** Whether the turn has begun without such a step: one that an earlier release began. */
export function beganWithoutInstructions(records: readonly JournalRecord[]): boolean {
  const calls = records.filter(({ kind }) => !BEFORE_IT.has(kind));
  return calls.length > 0 && !calls.some(({ stepId }) => stepId === INSTRUCTIONS);
}

/** What the agent is instructed. A function may ask the world: it is a step of the turn, and is asked once. */
export async function readInstructions(
  { name, instructions }: DeepAgentDefinition,
  { isRecorded }: { isRecorded: boolean },
): Promise<string | undefined> {
  if (typeof instructions !== 'function') return instructions;
  const body = bodyOf('runTurn');
  const ask = async () => instructions({ agent: name, now: new Date(), ...contextOf(body.run) });
  if (!isRecorded) return ask();
  const action = { type: 'run', policy: ONCE, name: INSTRUCTIONS, run: ask } as const;
  const input = encode({ agent: name }, 'input');
  return (await body.invoke({ kind: 'step', stepId: INSTRUCTIONS, input, action })) as string;
}
