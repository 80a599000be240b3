import type { EventBatches, TurnEvent } from '../../agents/events/turn-events.ts';
import { joinFrames } from '../frames.ts';
import { toMessageError } from './error.ts';
import { createMessageEvents } from './translator.ts';
import { toFailure } from '../wire-error.ts';
import type { BlockDelta, ContentBlock, Message, MessageEvent, MessageView } from './translator.ts';

/** Between the parts of a long answer, so that proxies and clients see that it lives. */
export const PING = toFrame({ type: 'ping' });

/** The answer as server-sent events, each with its name: a client drops one without. */
export async function* toMessageFrames(
  events: EventBatches,
  { requestId, ...view }: MessageView & { requestId: string },
): AsyncGenerator<string> {
  const translate = createMessageEvents(view);
  for await (const batch of events) {
    yield* joinFrames(batch, (event) => {
      const failure = toFailure(event);
      return failure ? toFrame(toMessageError(failure, requestId)) : translate(event).map(toFrame).join('');
    });
  }
}

/** The whole answer of a turn that did not fail: what a client makes of the streamed one. */
export function toMessage(events: readonly TurnEvent[], view: MessageView): Message | undefined {
  const translate = createMessageEvents(view);
  let message: Message | undefined;
  for (const event of events.flatMap(translate)) message = accumulate(message, event);
  return message;
}

// --- internal ---

function toFrame(event: { type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function accumulate(message: Message | undefined, event: MessageEvent): Message | undefined {
  if (event.type === 'message_start') return event.message;
  if (event.type === 'content_block_start') message?.content.push(toOpen(event.content_block));
  if (event.type === 'content_block_delta') append(message?.content[event.index], event.delta);
  if (event.type === 'content_block_stop') close(message?.content[event.index]);
  if (event.type !== 'message_delta' || !message) return message;
  const { delta, usage, svc } = event;
  return { ...message, ...delta, usage, ...(svc ? { svc } : {}) };
}

/** The input of a call is collected as text. */
function toOpen(block: ContentBlock): ContentBlock {
  return block.type === 'tool_use' ? { ...block, input: '' } : block;
}

function append(block: ContentBlock | undefined, delta: BlockDelta): void {
  if (block?.type === 'text' && delta.type === 'text_delta') block.text += delta.text;
  else if (block?.type === 'thinking' && delta.type === 'thinking_delta') block.thinking += delta.thinking;
  else if (block?.type === 'thinking' && delta.type === 'signature_delta') block.signature = delta.signature;
  else if (block?.type === 'tool_use' && delta.type === 'input_json_delta')
    block.input = `${String(block.input)}${delta.partial_json}`;
}

function close(block: ContentBlock | undefined): void {
  if (block?.type === 'tool_use') block.input = JSON.parse(String(block.input));
}
