import type { Frame } from '@svc/client';
import type { BoxEvent } from '../events/events.ts';
import type { LogEntry } from '../logs/entry.ts';
import type { RunState } from '../runs/state.ts';
import type { Run } from '../runs/run.ts';

/** What each operation that streams sends, by its id: `event` says which it is. */
export interface StreamFrames {
  'events.stream': Happened<BoxEvent> | Reset;
  'runs.stream':
    | Frame<'frame', { value: unknown }>
    | Frame<'end', { runId: string; status: Ended; reason: 'closed' | 'run_over' | 'caught_up' }>;
  'runs.state_stream': Frame<'state', RunState> | Frame<'end', RunState | { runId: string; status: 'deleted' }>;
  'runs.logs_stream': Frame<'log', LogEntry> | Reset;
  'logs.tail': Frame<'log', LogEntry> | Reset;
}

// --- internal ---

/** What was missed is not known any more: read what you show again. */
type Reset = Frame<'reset', Record<string, never>>;
type Ended = Run['status'] | 'deleted';

/** The type is the name of the event, and its facts are the data; who began the run is not sent. */
type Happened<E> = E extends { type: infer T extends string }
  ? Frame<T, Omit<E, 'startedBy' | 'type'> & { at: string }>
  : never;
