import { flatten } from '../../agents/events/turn-events.ts';
import type { TurnEvent } from '../../agents/events/turn-events.ts';
import type { AttachedTurn } from '../../agents/threads/attached.ts';
import { listOpenCalls } from '../../agents/threads/view.ts';
import type { ConversationMessage } from '../../agents/turn/input.ts';
import type { SignThinking } from '../thinking-signature.ts';
import { toText } from './content.ts';
import { readClientState } from './context.ts';
import type { AguiEvent } from './event.ts';
import type { RunAgentInput } from './input.ts';
import { restate } from './snapshot.ts';
import { createNewFilter } from './stream.ts';
import type { ReadTurn } from './stream.ts';
import { createTranslator } from './translator.ts';

/** A turn under way from its beginning, as it was emitted the first time: for a client that asks for it again. */
export async function* toRepeatedEvents(
  input: RunAgentInput,
  { turn, asked, made, clientTools, readEnd }: AttachedTurn,
  { signThinking, read }: { signThinking: SignThinking; read: ReadTurn },
): AsyncGenerator<AguiEvent> {
  const { toState } = readClientState(input.state, {});
  const translator = createTranslator({ run: input, boxRunId: turn.runId, signThinking, toState });
  const emit = (events: readonly TurnEvent[]): AguiEvent[] => events.flatMap((event) => translator.translate(event));
  yield translator.start();
  yield* restate(asked, input.messages);
  yield* emit(withSteps(made, clientTools));
  const has = new Set(made.map(({ id }) => id));
  const isNew = createNewFilter(has);
  const steps = made.filter(({ role }) => role === 'assistant').length;
  for await (const event of flatten(read(turn))) {
    if (event.type === 'error') yield* translator.fail(event);
    else if (event.type === 'step.start' && event.step <= steps) continue;
    else if (event.type !== 'finish') yield* isNew(event) ? translator.translate(event) : [];
    else {
      yield* translator.close();
      const messages = await readEnd(event.reason);
      // What another process has made meanwhile.
      const missed = messages.filter(({ id }) => !has.has(id) && !translator.emitted.has(id));
      yield* emit(toTurnEvents(missed, clientTools));
      yield* translator.finish(event.reason, listOpenCalls([...asked, ...messages]));
    }
  }
}

// --- internal ---

/** The first messages of a turn. Its last step may not have ended. */
function withSteps(made: readonly ConversationMessage[], clientTools: readonly string[]): TurnEvent[] {
  let step = 0;
  return made.flatMap((message): TurnEvent[] => {
    const events = toTurnEvents([message], clientTools);
    if (message.role !== 'assistant') return events;
    step += 1;
    const ended: TurnEvent[] = step === 1 ? [] : [{ type: 'step.end', step: step - 1 }];
    return [...ended, { type: 'step.start', step }, ...events];
  });
}

/** What a turn emitted when it made these messages, without its steps. */
function toTurnEvents(messages: readonly ConversationMessage[], clientTools: readonly string[]): TurnEvent[] {
  const isOfClient = new Set(clientTools);
  return messages.flatMap((message): TurnEvent[] => {
    const { id: messageId, content } = message;
    if (message.role === 'tool') {
      const { tool_call_id: callId } = message;
      return [
        {
          type: 'tool.result',
          callId,
          messageId,
          content: toText(content),
          isError: message.isError === true,
          durationMs: 0,
        },
      ];
    }
    if (message.role !== 'assistant') return [];
    const { tool_calls: calls = [] } = message;
    return [
      ...toParts('reasoning', `${messageId}-reasoning`, message.reasoning ?? ''),
      ...toParts('text', messageId, toText(content)),
      ...calls.flatMap(({ id: callId, function: { name, arguments: args } }): TurnEvent[] => [
        { type: 'tool.start', callId, name, messageId, executor: isOfClient.has(name) ? 'client' : 'box' },
        { type: 'tool.args', callId, delta: args },
        { type: 'tool.end', callId, args },
      ]),
    ];
  });
}

function toParts(kind: 'text' | 'reasoning', id: string, text: string): TurnEvent[] {
  if (text === '') return [];
  return [
    { type: `${kind}.start`, id },
    { type: `${kind}.delta`, id, text },
    { type: `${kind}.end`, id },
  ];
}
