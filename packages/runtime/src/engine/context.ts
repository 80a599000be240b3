import { AsyncLocalStorage } from 'node:async_hooks';
import type { WriteMark } from '../stores/write-mark.ts';
import type { RunHandle } from './handle.ts';
import type { Tokens } from './journal/run.ts';

/** Code running as the body of a run: time, randomness and effects are the run's own. */
export interface BodyContext {
  kind: 'body';
  execution: RunHandle;
}

/** Code running as one attempt of a step: the real world, with what the attempt may know about itself. */
export interface StepContext {
  kind: 'step';
  execution: RunHandle;
  stepId: string;
  stepName: string;
  call: number;
  attempt: number;
  startedAt: number;
  /** When the first attempt of the step began. */
  firstStartedAt: number;
  readonly signal: AbortSignal;
  /** Its call was answered with the cancel of the run: what it comes to is of no use. */
  readonly isCancelled: boolean;
  /** Fails the attempt, or the part of it that runs, as if its function had thrown the error. False: it is over. */
  crash(error: unknown): boolean;
  /** It has come to something, whatever its function does from here on. */
  readonly isOver: boolean;
  /** As `work`, which in place of the attempt fails by what crashes it meanwhile. */
  runPart<T>(work: () => Promise<T>): Promise<T>;
  /** The attempt is getting on: where it has a heartbeat timeout, that starts over. */
  beat(): void;
  /** `<runId>:<call>:<stepName>`, the same across attempts, replicas, restarts and retries that keep what succeeded. */
  readonly idempotencyKey: string;
  /** Counts tokens that models have used for this attempt. They are recorded with it, whatever becomes of it. */
  spend(tokens: Tokens): void;
  /** The workflows this attempt has started, each by what distinguishes it from the others. */
  starts?: string[];
  /** Called once the attempt is over, however it ended. */
  onEnd(work: () => void): void;
  /** What the first change in the box's database is committed with. Absent: nothing. */
  mark?: WriteMark;
}

export type EngineContext = BodyContext | StepContext;

/** Code that answers a request, outside of any run. */
export interface RequestContext {
  kind: 'request';
  requestId: string;
  /** Where it comes from. Undefined: over no socket. */
  address?: () => string | undefined;
  /** The same, of IPv6 too the address and not its network. */
  wholeAddress?: () => string | undefined;
  /** It came through the tunnel of `svc dev`, and is let in as by a deployed box. */
  isTunnelled: boolean;
  /** Who was let in. */
  caller?: { id: string; name: string };
  /** The runs it has started. */
  runs?: string[];
  /** Where its trace is: what it was given, or what was drawn for it. */
  traceparent: string | null;
  span?: { traceId: string; spanId: string };
}

/** Code of the workspace that is asked something and is no part of what asks: the real world, without the run. */
export interface AskedContext {
  kind: 'asked';
  /** Fails what was asked, as if the code had thrown the error. It may have answered before. */
  crash(error: unknown): void;
}

/** One storage for all: a second one would cost every promise of every run. */
type Context = EngineContext | RequestContext | AskedContext;

const SYMBOL = Symbol.for('svc.engine.context');

/** One storage per process, also when two copies of this module are loaded. */
const storage: AsyncLocalStorage<Context> = ((globalThis as Record<symbol, unknown>)[SYMBOL] ??=
  new AsyncLocalStorage<Context>()) as AsyncLocalStorage<Context>;

export function currentContext(): EngineContext | undefined {
  const context = storage.getStore();
  return context?.kind === 'request' || context?.kind === 'asked' ? undefined : context;
}

/** What asks the code that runs, where that is no part of a run. */
export function currentAsked(): AskedContext | undefined {
  const context = storage.getStore();
  return context?.kind === 'asked' ? context : undefined;
}

/** What the call that is under way marks its first change with. */
export function currentMark(): WriteMark | undefined {
  const context = storage.getStore();
  return context?.kind === 'step' ? context.mark : undefined;
}

/** The request that is being answered. Undefined in a run: that goes on without whoever started it. */
export function currentRequest(): RequestContext | undefined {
  const context = storage.getStore();
  return context?.kind === 'request' ? context : undefined;
}

export function runInContext<T>(context: Context, work: () => T): T {
  return storage.run(context, work);
}

/**
 * The one door out: the engine's own calls see the real clock, timers and network. Not `exit`, which on Node 20
 * switches the hooks of every promise off and on again.
 */
export function runOutside<T>(work: () => T): T {
  return storage.run(undefined as unknown as EngineContext, work);
}

/** Ends what runs as the body of a run for the rest of this callback, which has no frame of ours around it. */
export function leaveContext(): void {
  storage.enterWith(undefined as unknown as EngineContext);
}
