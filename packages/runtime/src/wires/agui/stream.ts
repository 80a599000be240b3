import { toErrorEvent } from '../../agents/events/turn-errors.ts';
import { flatten } from '../../agents/events/turn-events.ts';
import type { EventBatches, FinishReason } from '../../agents/events/turn-events.ts';
import type { RunningTurn } from '../../agents/reading/running-turn.ts';
import type { BegunThread } from '../../agents/threads/threads.ts';
import type { SignThinking } from '../thinking-signature.ts';
import { readClientState } from './context.ts';
import type { AguiEvent } from './event.ts';
import type { RunAgentInput } from './input.ts';
import { restate } from './snapshot.ts';
import { createTranslator } from './translator.ts';
import type { AguiTranslator } from './translator.ts';

/** The events of a turn, as its reader may have them. */
export type ReadTurn = (turn: RunningTurn) => EventBatches;

/** Everything one run emits, in order: from RUN_STARTED to RUN_FINISHED or RUN_ERROR. */
export async function* toAguiEvents(
  input: RunAgentInput,
  begun: BegunThread,
  { signThinking, read }: { signThinking: SignThinking; read: ReadTurn },
): AsyncGenerator<AguiEvent> {
  const { turn, restated, state, openCalls } = begun;
  const { toState } = readClientState(input.state, state);
  const translator = createTranslator({ run: input, boxRunId: turn?.runId, signThinking, toState });
  yield translator.start();
  if (restated) {
    yield* restate(restated, input.messages);
    if (Object.keys(state).length > 0) yield { type: 'STATE_SNAPSHOT', snapshot: toState(state) };
  }
  if (!turn) return yield* translator.finish(openCalls.length > 0 ? 'tool_calls' : 'stop', openCalls);
  yield* streamTurn({ input, followed: begun.followed, translator, turn, read });
}

// --- internal ---

interface TurnStream {
  read: ReadTurn;
  input: RunAgentInput;
  translator: AguiTranslator;
  turn: RunningTurn;
  followed: BegunThread['followed'];
}

async function* streamTurn(stream: TurnStream): AsyncGenerator<AguiEvent> {
  const { translator } = stream;
  for await (const event of flatten(stream.read(stream.turn))) {
    if (event.type === 'finish') yield* finish(stream, event.reason);
    else if (event.type === 'error') yield* translator.fail(event);
    else yield* translator.translate(event);
  }
}

async function* finish(
  { input, followed, translator, read }: Omit<TurnStream, 'turn'>,
  reason: FinishReason,
): AsyncGenerator<AguiEvent> {
  yield* translator.close();
  if (!followed) return yield* translator.finish(reason, translator.clientCalls);
  const { messages, openCalls, ask } = await followed.readEnd(reason);
  // What was made before this run was read, or in another process, has not been streamed.
  yield* restate(messages, input.messages, translator.emitted);
  if (!ask) return yield* translator.finish(reason, openCalls);
  const next = await ask().catch(toErrorEvent);
  if ('type' in next) yield* next.type === 'error' ? translator.fail(next) : [];
  else yield* streamTurn({ input, translator, turn: next, followed: undefined, read });
}
