import { isTerminal } from '../events/turn-events.ts';
import type { TurnEvent } from '../events/turn-events.ts';

/**
 * What the turns of this process have emitted since their last model call began, and the journal does not have: for a
 * reader that comes in the middle of it.
 */
export interface StepEvents {
  add(runId: string, event: TurnEvent): void;
  /** None of a call that has said more than is kept: the whole of it is read at its end. */
  list(runId: string): readonly TurnEvent[];
}

export function createStepEvents(): StepEvents {
  const steps = new Map<string, Step>();
  const begin = (runId: string): Step => {
    const step = { events: [], size: 0, joined: undefined };
    // The turn whose call began longest ago goes first: those that end without an event stay until then.
    steps.delete(runId);
    steps.set(runId, step);
    const [oldest] = steps.size > MOST_TURNS ? steps.keys() : [];
    if (oldest !== undefined) steps.delete(oldest);
    return step;
  };
  return {
    add(runId, event) {
      if (isTerminal(event)) return void steps.delete(runId);
      const step = event.type === 'step.start' ? begin(runId) : steps.get(runId);
      if (!step || step.size > LONGEST) return;
      step.size += sizeOf(event);
      if (step.size > LONGEST) step.events = [];
      else append(step, event);
    },
    list(runId) {
      const step = steps.get(runId);
      if (!step) return [];
      // A reader has it now.
      step.joined = undefined;
      return [...step.events];
    },
  };
}

// --- internal ---

const MOST_TURNS = 500;
/** Characters, and as many for each event as it takes in memory. */
const LONGEST = 65_536;
const EVENT_SIZE = 64;

type TextDelta = Extract<TurnEvent, { type: 'text.delta' | 'reasoning.delta' }>;

interface Step {
  events: TurnEvent[];
  size: number;
  /** The last event, where it is one of these and no reader's. */
  joined: TextDelta | undefined;
}

/** Pieces of one text become one: there may be thousands. */
function append(step: Step, event: TurnEvent): void {
  const { joined } = step;
  const isText = event.type === 'text.delta' || event.type === 'reasoning.delta';
  if (isText && joined?.type === event.type && joined.id === event.id) return void (joined.text += event.text);
  step.joined = isText ? { ...event } : undefined;
  step.events.push(step.joined ?? event);
}

function sizeOf(event: TurnEvent): number {
  if (event.type === 'text.delta' || event.type === 'reasoning.delta') return event.text.length + 1;
  if (event.type === 'text.logprobs') return EVENT_SIZE + event.size;
  const { delta = '', args, content } = event as { delta?: string; args?: unknown; content?: string };
  return EVENT_SIZE + delta.length + (typeof args === 'string' ? args.length : 0) + (content?.length ?? 0);
}
