import type { Agents } from '../agents/agents.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { AguiEvent } from './agui-event.ts';
import { createTranslator } from './agui-events.ts';
import type { AguiTranslator } from './agui-events.ts';
import type { RunAgentInput } from './agui-input.ts';
import type { BegunRun } from './agui-run.ts';
import { restate } from './agui-snapshot.ts';
import { listOpenCalls } from './agui-thread.ts';
import { flatten } from './events.ts';
import type { FinishReason } from './events.ts';
import type { SignThinking } from './thinking-signature.ts';

export interface StreamOptions {
  agents: Agents;
  sessions: Sessions;
  signThinking: SignThinking;
}

/** Everything one run tells, in order: from RUN_STARTED to RUN_FINISHED or RUN_ERROR. */
export async function* toAguiEvents(
  options: StreamOptions,
  input: RunAgentInput,
  begun: BegunRun,
): AsyncGenerator<AguiEvent> {
  const { turn, restated, state } = begun;
  const translator = createTranslator({
    run: input,
    boxRunId: turn?.runId,
    signThinking: options.signThinking,
    toState: state.toState,
  });
  yield translator.start();
  if (restated) {
    yield* restate(restated.messages, input.messages);
    if (Object.keys(restated.state).length > 0)
      yield { type: 'STATE_SNAPSHOT', snapshot: state.toState(restated.state) };
  }
  if (!turn) return yield* translator.finish('stop', begun.openCalls);
  for await (const event of flatten(turn.events)) {
    if (event.type === 'finish') yield* finish(options, { input, begun, translator, reason: event.reason });
    else if (event.type === 'error') yield* translator.fail(event);
    else yield* translator.translate(event);
  }
}

// --- internal ---

interface Ending {
  input: RunAgentInput;
  begun: BegunRun;
  translator: AguiTranslator;
  reason: FinishReason;
}

async function* finish(
  { agents, sessions }: StreamOptions,
  { input, begun, translator, reason }: Ending,
): AsyncGenerator<AguiEvent> {
  yield* translator.close();
  const { followed: run } = begun;
  if (!run) return yield* translator.finish(reason, translator.clientCalls);
  const messages =
    reason === 'interrupt' ? await agents.readOpenTurn(run) : (await sessions.read(run.sessionId ?? '')).messages;
  // What was made before this run was read, or in another process, has not been streamed.
  yield* restate(messages, input.messages, translator.told);
  yield* translator.finish(reason, listOpenCalls(messages));
}
