import type { RunAction } from '../../engine/call.ts';
import type { RunHandle } from '../../engine/handle.ts';
import type { StepKind } from '../../engine/journal/record.ts';
import type { AgentState } from '../../tools/state.ts';
import type { Emit, Interrupt } from '../events/turn-events.ts';
import type { TurnOptions } from './options.ts';

/** Records a step of the turn, or answers what is recorded of it. */
export type Invoke = (
  kind: StepKind,
  stepId: string,
  input: unknown,
  action: Pick<RunAction, 'name' | 'run' | 'tokensOf'>,
) => Promise<unknown>;

/** A turn as the calls of its tools see it. */
export interface ToolTurn {
  /** `emit` there is for recorded steps, which are not run again on a replay. */
  readonly options: Pick<TurnOptions, 'agent' | 'toolset' | 'emit' | 'guard'>;
  readonly execution: RunHandle;
  state: AgentState;
  /** Whether a call can wait for an approval: no one comes back for a stateless turn whose client has calls to run. */
  readonly mayWait: boolean;
  /** Set where a person's no ends the turn. */
  isRefused: boolean;
  invoke: Invoke;
  /** Emits, unless it is a replay of what has been emitted. */
  emit: Emit;
  /** A call waits for an approval. */
  interrupt(interrupt: Interrupt): void;
  /** The approval of that id is decided. */
  decided(id: string): void;
}
