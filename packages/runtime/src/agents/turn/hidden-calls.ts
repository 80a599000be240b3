import type { TurnEvent } from '../events/turn-events.ts';
import type { CallModel } from '../model/client.ts';

/** The arguments of a call of this tool as they may be recorded and shown. */
export type Hide = (tool: string, args: string) => Promise<string>;

/**
 * Calls the model, and lets readers and the record see its calls as they may be seen. From the first call on the reply is
 * held until it is whole: a part of a value says as much as the value.
 */
export function withHiddenCalls(callModel: CallModel, hide: Hide | undefined): CallModel {
  if (!hide) return callModel;
  return async (request, reply, signal) => {
    const held: TurnEvent[] = [];
    const names = new Map<string, string>();
    const emit = (event: TurnEvent): void => {
      if (event.type === 'tool.start') names.set(event.callId, event.name);
      if (names.size > 0) held.push(event);
      else reply.emit(event);
    };
    const answered = await callModel(request, { ...reply, emit }, signal);
    const shown = new Map<string, string>();
    for (const event of held)
      if (event.type === 'tool.end') shown.set(event.callId, await hide(names.get(event.callId) ?? '', event.args));
    const toolCalls = [];
    for (const call of answered.toolCalls)
      toolCalls.push({ ...call, arguments: shown.get(call.id) ?? (await hide(call.name, call.arguments)) });
    for (const event of held) emitShown(event, shown, reply.emit);
    return { ...answered, toolCalls };
  };
}

// --- internal ---

function emitShown(event: TurnEvent, shown: ReadonlyMap<string, string>, emit: (event: TurnEvent) => void): void {
  if (event.type === 'tool.args') return;
  if (event.type !== 'tool.end') return emit(event);
  const { callId } = event;
  const args = shown.get(callId) ?? '';
  if (args !== '') emit({ type: 'tool.args', callId, delta: args });
  emit({ type: 'tool.end', callId, args });
}
