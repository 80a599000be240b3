import { EVENT_RULE, isEventName } from '../engine/events.ts';
import type { WorkflowEntry } from '../manifest.ts';

/** `export const on`: the event that starts a run of the workflow, with its payload as the input. */
export interface StartsOn {
  event: string;
}

/** Reads `export const on`. Throws a sentence that says what it may be. */
export function toStartsOn({ file, name }: WorkflowEntry, on: unknown, mode: unknown): StartsOn {
  const { event, ...rest } = Object(on) as Record<string, unknown>;
  if (!isEventName(event) || Object.keys(rest).length > 0)
    throw new Error(`"on" of "${file}" must be { event: 'order.paid' }. ${EVENT_RULE}.`);
  if (mode === 'chat')
    throw new Error(
      `"${file}" holds a conversation, which streams to whoever starts it, and an event has no reader. Remove "on" of "${name}".`,
    );
  return { event };
}
