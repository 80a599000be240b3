import type { Ambient } from './ambient.ts';
import type { CallRequest, HookRequest, OpenHook } from './call.ts';
import type { NewChunk, RunRow } from './journal.ts';

/** What a body sees instead of the machine's own clock and dice. */
export interface World {
  now(): number;
  random(): number;
}

/** A running run, as the code in it may know it. */
export interface RunHandle {
  readonly run: RunRow;
  readonly world: World;
  readonly ambient: Ambient;
  /** The one way in for every primitive. Resolves with the recorded answer. */
  invoke(request: CallRequest): Promise<unknown>;
  /** Makes a hook, with the run's next append. */
  openHook(request: HookRequest): OpenHook;
  /** Writes frames to the run's stream; resolves once they are stored. */
  writeChunks(chunks: NewChunk[]): Promise<void>;
  /** Marks the run, with its next append. */
  setAttributes(attributes: Record<string, string | number | boolean>): void;
}
