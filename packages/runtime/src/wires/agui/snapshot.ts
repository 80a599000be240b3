import { isSilent } from '../../agents/threads/view.ts';
import type { ConversationMessage } from '../../agents/turn/input.ts';
import { isSystem } from './context.ts';
import type { AguiEvent } from './event.ts';
import type { AguiMessage } from './input.ts';
import { toAguiMessages } from './messages.ts';

/**
 * Sends the thread to a client that lacks a part of it; nothing to one that has it all. A client keeps what it has where
 * it stands and adds the rest at the end. So one that has a later message is sent it first without that, then with it.
 * Its system texts are its own, and stay.
 */
export function restate(
  thread: readonly ConversationMessage[],
  sent: readonly AguiMessage[],
  emitted: ReadonlySet<string> = new Set(),
): AguiEvent[] {
  const has = new Set([...sent.map(({ id }) => id), ...emitted]);
  const missing = thread.findIndex((message) => !has.has(message.id) && !isSilent(message));
  if (missing < 0) return [];
  const isBehind = thread.slice(missing).some(({ id }) => has.has(id));
  return [...(isBehind ? [toSnapshot(thread.slice(0, missing), sent)] : []), toSnapshot(thread, sent)];
}

/** The thread in one event, in place of what the client has. */
export function toSnapshot(thread: readonly ConversationMessage[], sent: readonly AguiMessage[]): AguiEvent {
  return { type: 'MESSAGES_SNAPSHOT', messages: [...sent.filter(isSystem), ...toAguiMessages(thread)] };
}
