import { toErrorEvent } from '../../agents/events/turn-errors.ts';
import { flatten } from '../../agents/events/turn-events.ts';
import type { EventBatches, FinishReason, TurnEvent } from '../../agents/events/turn-events.ts';
import type { RunningTurn } from '../../agents/reading/running-turn.ts';
import type { AttachedTurn } from '../../agents/threads/attached.ts';
import type { BegunThread } from '../../agents/threads/threads.ts';
import { listOpenCalls } from '../../agents/threads/view.ts';
import { isMessageOf } from '../../agents/turn/ids.ts';
import type { SignThinking } from '../thinking-signature.ts';
import { readClientState } from './context.ts';
import type { AguiEvent } from './event.ts';
import type { RunAgentInput } from './input.ts';
import { restate, toSnapshot } from './snapshot.ts';
import { createTranslator, messageOf } from './translator.ts';
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

/** A turn that was under way before, for a client that has lost its stream: the thread first, then what is made from now on. */
export async function* toRejoinedEvents(
  input: RunAgentInput,
  attached: AttachedTurn,
  { signThinking, read }: { signThinking: SignThinking; read: ReadTurn },
): AsyncGenerator<AguiEvent> {
  const { turn, asked, made, readEnd } = attached;
  const { toState } = readClientState(input.state, {});
  const translator = createTranslator({ run: input, boxRunId: turn.runId, signThinking, toState });
  const turnMessages = [...asked, ...made];
  const has = new Set(turnMessages.map(({ id }) => id));
  yield translator.start();
  // Half a message, of the stream that was lost, is taken back: it comes again from its beginning.
  const isHalf = input.messages.some(({ id }) => isMessageOf(turn.runId, id) && !has.has(id));
  yield* isHalf ? [toSnapshot(turnMessages, input.messages)] : restate(turnMessages, input.messages);
  const isNew = createNewFilter(has);
  for await (const event of flatten(read(turn))) {
    if (event.type === 'error') yield* translator.fail(event);
    else if (event.type !== 'finish') yield* isNew(event) ? translator.translate(event) : [];
    else {
      yield* translator.close();
      const messages = [...asked, ...(await readEnd(event.reason))];
      yield* restate(messages, input.messages, new Set([...has, ...translator.emitted]));
      yield* translator.finish(event.reason, listOpenCalls(messages));
    }
  }
}

/** Whether an event is of something the client lacks and is emitted from its beginning. What is not comes at the end. */
export function createNewFilter(has: ReadonlySet<string>): (event: TurnEvent) => boolean {
  const begun = new Set<string>();
  const begin = (id: string, messageId: string): boolean => {
    if (has.has(messageId)) return false;
    begun.add(id);
    return true;
  };
  return (event) => {
    if (event.type === 'text.start') return begin(event.id, messageOf(event.id));
    if (event.type === 'reasoning.start') return begin(event.id, event.id.replace(/-reasoning$/, ''));
    if (event.type === 'tool.start') return begin(event.callId, event.messageId);
    if (event.type === 'tool.result') return !has.has(event.messageId);
    if (event.type === 'tool.args' || event.type === 'tool.end') return begun.has(event.callId);
    return event.type === 'interrupt' || !('id' in event) || begun.has(event.id);
  };
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
