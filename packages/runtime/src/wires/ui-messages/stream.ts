import { toErrorEvent } from '../../agents/events/turn-errors.ts';
import { flatten } from '../../agents/events/turn-events.ts';
import type { EventBatches, TurnEvent } from '../../agents/events/turn-events.ts';
import type { RunningTurn } from '../../agents/reading/running-turn.ts';
import type { AttachedTurn } from '../../agents/threads/attached.ts';
import type { BegunThread } from '../../agents/threads/threads.ts';
import type { UiChunk } from './chunk.ts';
import { isCall } from './input.ts';
import type { UiRequest } from './input.ts';
import { toSentMessages, toUiMessages } from './messages.ts';
import { createUiTranslator } from './translator.ts';
import type { UiTranslator } from './translator.ts';

/** The events of a turn, as its reader may have them. */
export type ReadTurn = (turn: RunningTurn) => EventBatches;

/** The answer to a request: a new message, or more of the client's last one. */
export async function* toAnswerChunks(
  { messages, tools }: UiRequest,
  { turn, followed, openCalls }: BegunThread,
  read: ReadTurn,
): AsyncGenerator<UiChunk> {
  const last = messages.at(-1);
  const isContinued = last?.role === 'assistant';
  const calls = isContinued ? last.parts.filter(isCall) : [];
  const refused = calls.filter(({ state, approval }) => state === 'approval-responded' && approval?.approved !== true);
  const translator = createUiTranslator({
    runId: turn?.runId ?? '',
    messageId: isContinued ? last.id : undefined,
    has: new Set(toSentMessages(messages).map(({ id }) => id)),
    calls: calls.map(({ toolCallId }) => toolCallId),
    denied: new Set(refused.map(({ toolCallId }) => toolCallId)),
    clientTools: new Set(tools.map(({ name }) => name)),
  });
  if (!turn) return yield* translator.finish(openCalls.length > 0 ? 'tool_calls' : 'stop');
  const ended = yield* toChunks(translator, read(turn));
  const { end } = ended;
  if (!followed || end.type === 'error') return yield* toEnd(translator, ended);
  const { messages: kept, ask } = await followed.readEnd(end.reason);
  yield* translator.restate(kept);
  if (!ask) return yield* toEnd(translator, ended);
  // What the person has said beside their decisions.
  const next = await ask().catch(toErrorEvent);
  if (!('type' in next)) yield* toEnd(translator, yield* toChunks(translator, read(next)));
  else if (next.type === 'error') yield* translator.fail(next);
}

/** A turn that has not ended, from its beginning, for a client that has the thread up to there. */
export async function* toAttachedChunks(attached: AttachedTurn, read: ReadTurn): AsyncGenerator<UiChunk> {
  const { turn, asked, made, clientTools, readEnd } = attached;
  const last = toUiMessages(asked).at(-1);
  const isContinued = last?.role === 'assistant';
  const translator = createUiTranslator({
    runId: turn.runId,
    messageId: isContinued ? last.id : undefined,
    has: new Set(asked.map(({ id }) => id)),
    calls: isContinued ? last.parts.filter(isCall).map(({ toolCallId }) => toolCallId) : [],
    denied: new Set(),
    clientTools: new Set(clientTools),
  });
  yield* translator.restate(made);
  const ended = yield* toChunks(translator, read(turn));
  if (ended.end.type === 'finish') yield* translator.restate(await readEnd(ended.end.reason));
  yield* toEnd(translator, ended);
}

// --- internal ---

interface Ended {
  end: Extract<TurnEvent, { type: 'finish' | 'error' }>;
  /** The calls that wait. What they belong to may have to be restated first. */
  waiting: Extract<TurnEvent, { type: 'interrupt' }>[];
}

async function* toChunks(translator: UiTranslator, batches: EventBatches): AsyncGenerator<UiChunk, Ended> {
  const ended: Ended = { end: { type: 'finish', reason: 'cancelled' }, waiting: [] };
  for await (const event of flatten(batches)) {
    if (event.type === 'finish' || event.type === 'error') ended.end = event;
    else if (event.type === 'interrupt') ended.waiting.push(event);
    else yield* translator.translate(event);
    if (event.type === 'tool.result') ended.waiting = ended.waiting.filter(({ callId }) => callId !== event.callId);
  }
  return ended;
}

function* toEnd(translator: UiTranslator, { end, waiting }: Ended): Generator<UiChunk> {
  for (const interrupt of waiting) yield* translator.translate(interrupt);
  yield* end.type === 'error' ? translator.fail(end) : translator.finish(end.reason);
}
