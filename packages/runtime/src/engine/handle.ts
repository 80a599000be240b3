import type { CallRequest, HookRequest, OpenHook } from './call.ts';
import type { NewChunk, RunRow } from './journal.ts';

/** What a body sees instead of the machine's own clock and dice. */
export interface World {
  now(): number;
  random(): number;
}

/** What code in a run can reach of the box that runs it. */
export interface Ambient {
  startWorkflow(
    name: string,
    input: unknown,
    options: { parentRunId: string; idempotencyKey?: string },
  ): Promise<StartedWorkflow>;
  /** The output of the run, once it is final; throws what ended it otherwise. */
  waitForRun(started: StartedWorkflow): Promise<unknown>;
  /** The address an outside service calls to resume a webhook. */
  webhookUrl(token: string): string;
}

/** A run, or a start that waits for the lock of a serial workflow. */
export type StartedWorkflow =
  | { status: 'started'; workflowName: string; runId: string; worldRunId: string; trigger: string }
  | { status: 'queued'; workflowName: string; triggerId: string; trigger: string };

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
