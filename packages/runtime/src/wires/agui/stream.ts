import { toErrorEvent } from '../../agents/events/turn-errors.ts';
import type { Agents } from '../../agents/agents.ts';
import type { RunningTurn } from '../../agents/reading/running-turn.ts';
import type { ConversationMessage } from '../../agents/turn/input.ts';
import type { SessionStore } from '../../agents/turn/session-store.ts';
import type { AguiEvent } from './event.ts';
import { createTranslator } from './translator.ts';
import type { AguiTranslator } from './translator.ts';
import type { RunAgentInput } from './input.ts';
import type { BegunRun, Followed } from './run.ts';
import { restate } from './snapshot.ts';
import { isAsked, listOpenCalls, viewRest } from './thread.ts';
import { flatten } from '../../agents/events/turn-events.ts';
import type { FinishReason, TurnEvent } from '../../agents/events/turn-events.ts';
import type { SignThinking } from '../thinking-signature.ts';

export interface StreamOptions {
  agents: Agents;
  sessions: SessionStore;
  signThinking: SignThinking;
}

/** Asks what a request said beside its decisions when its client does not read on: the thread goes on without it. */
export async function askAlone(options: StreamOptions, input: RunAgentInput, followed: Followed): Promise<void> {
  const turn = await options.agents.follow(followed.run);
  let end: TurnEvent | undefined;
  for await (const event of flatten(turn.events)) end = event;
  if (end?.type !== 'finish' || !isOver(end.reason)) return;
  const { rest, openCalls } = viewAfter(await readThread(options, followed, end.reason), input);
  if (openCalls.length === 0 && isAsked(rest)) (await followed.ask(rest)).leave();
}

/** Everything one run emits, in order: from RUN_STARTED to RUN_FINISHED or RUN_ERROR. */
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
  const { openCalls } = begun;
  if (!turn) return yield* translator.finish(openCalls.length > 0 ? 'tool_calls' : 'stop', openCalls);
  yield* tellTurn(options, { input, followed: begun.followed, translator, turn });
}

// --- internal ---

interface Telling {
  input: RunAgentInput;
  translator: AguiTranslator;
  turn: RunningTurn;
  followed: BegunRun['followed'];
}

async function* tellTurn(options: StreamOptions, telling: Telling): AsyncGenerator<AguiEvent> {
  const { translator } = telling;
  for await (const event of flatten(telling.turn.events)) {
    if (event.type === 'finish') yield* finish(options, { ...telling, reason: event.reason });
    else if (event.type === 'error') yield* translator.fail(event);
    else yield* translator.translate(event);
  }
}

async function* finish(
  options: StreamOptions,
  { input, followed, translator, reason }: Omit<Telling, 'turn'> & { reason: FinishReason },
): AsyncGenerator<AguiEvent> {
  yield* translator.close();
  if (!followed) return yield* translator.finish(reason, translator.clientCalls);
  const messages = await readThread(options, followed, reason);
  // What was made before this run was read, or in another process, has not been streamed.
  yield* restate(messages, input.messages, translator.emitted);
  const { rest, openCalls } = viewAfter(messages, input);
  if (!isOver(reason) || openCalls.length > 0 || !isAsked(rest)) return yield* translator.finish(reason, openCalls);
  const next = await followed.ask(rest).catch(toErrorEvent);
  if ('type' in next) yield* next.type === 'error' ? translator.fail(next) : [];
  else yield* tellTurn(options, { input, translator, turn: next, followed: undefined });
}

async function readThread(
  { agents, sessions }: StreamOptions,
  { run }: Followed,
  reason: FinishReason,
): Promise<ConversationMessage[]> {
  if (reason === 'interrupt') return agents.readOpenTurn(run);
  return (await sessions.read(run.sessionId ?? '')).messages;
}

/** What the request says that the thread has not, and the calls that the client is to run then. */
function viewAfter(messages: ConversationMessage[], input: RunAgentInput) {
  const rest = viewRest(messages, input.messages);
  return { rest, openCalls: listOpenCalls([...messages, ...rest.added]) };
}

function isOver(reason: FinishReason): boolean {
  return reason !== 'interrupt' && reason !== 'cancelled';
}
