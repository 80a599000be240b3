import { isDeepAgent } from '../definitions/definition.ts';
import type { DeepAgentDefinition } from '../definitions/agent.ts';
import { parseRecording } from '../runs/recording.ts';
import { replayRecording } from '../replay/replay.ts';
import type { Difference, Replayed } from '../replay/replay.ts';
import { toProgram } from './program.ts';
import type { WorkflowModule } from './program.ts';

/**
 * Leads code through the history of a run: each step gets the result it had then, and none is executed. Throws where the
 * code asks for something else than the run did, or ends otherwise, with `code` and `difference`.
 * @param code the module of the workflow, or the agent
 * @param history what `svc pull run` writes
 */
export async function replayRun(code: WorkflowModule | DeepAgentDefinition, history: unknown): Promise<Replayed> {
  const recording = parseRecording(history);
  const { kind, name } = recording.run;
  if (isDeepAgent(code) !== (kind === 'agent'))
    throw new Error(`The history is of the ${kind} "${name}". Hand over its ${kind === 'agent' ? 'agent' : 'module'}.`);
  const program = isDeepAgent(code)
    ? { agents: { [name]: code }, workflows: {} }
    : { agents: {}, workflows: { [name]: code } };
  const replayed = await replayRecording(recording, toProgram(program, recording.run.codeHash ?? 'test'));
  if (replayed.difference) throw differs(replayed.difference);
  if (replayed.outcome === 'stuck')
    throw new Error('The code waits for something that is not a step, so its history cannot resume it.');
  return replayed;
}

// --- internal ---

function differs(difference: Difference): Error {
  const { message, was, is } = difference;
  const text = `${message}\n  then: ${JSON.stringify(was)}\n  now:  ${JSON.stringify(is)}`;
  return Object.assign(new Error(text), { code: difference.code, difference });
}
