import { writeSync } from 'node:fs';
import { inspect } from 'node:util';
import { currentAsked, currentContext, leaveContext, runOutside } from './context.ts';
import type { AskedContext, EngineContext } from './context.ts';
import { real } from './real.ts';
import { isOfWorkspace } from './run/error-place.ts';
import { textOfThrown } from './unhandled.ts';

/**
 * What code of a run throws where nothing can catch it, in a timer, a tick, a microtask or as an `error` event without a
 * listener, fails that attempt of its step, or its body, and ends no process. What is thrown outside of any run ends it, as
 * Node has it.
 */
export function installUncaught(): void {
  if (process.listeners('uncaughtException').includes(onUncaught)) return;
  // Before all others: what is of no run is left to them.
  process.prependListener('uncaughtException', onUncaught);
  if (globalThis.queueMicrotask !== queueInContext) {
    queue = globalThis.queueMicrotask;
    globalThis.queueMicrotask = queueInContext;
  }
}

// --- internal ---

/** Attempts and bodies that have thrown after their end. */
const late = new WeakSet<EngineContext>();

let queue = globalThis.queueMicrotask;

/** Of a microtask that throws, Node does not say in which context that was. */
function queueInContext(work: () => void): void {
  const context = typeof work === 'function' ? (currentContext() ?? currentAsked()) : undefined;
  if (!context) return queue(work);
  queue(() => {
    try {
      work();
    } catch (error) {
      fail(context, error);
    }
  });
}

function onUncaught(thrown: unknown): void {
  const context = currentContext() ?? currentAsked();
  if (context) {
    fail(context, thrown);
    // Node goes on by a timer that it sets here, which the guard would refuse a body. A step may have its own, which throw again.
    if (context.kind === 'body') leaveContext();
  }
  // Where others listen it is theirs to decide.
  else if (process.listenerCount('uncaughtException') === 1) endProcess(thrown);
  else leaveToOthers();
}

/** What reports errors to a service may end the process only where it is alone: this one is not there while it decides. */
function leaveToOthers(): void {
  process.off('uncaughtException', onUncaught);
  runOutside(() => real.nextTick(installUncaught));
}

function fail(context: EngineContext | AskedContext, thrown: unknown): void {
  runOutside(() => {
    if (context.kind === 'asked') return context.crash(thrown);
    const isStep = context.kind === 'step';
    // An interval may throw for good.
    if (late.has(context) && (!isStep || context.isOver)) return;
    const { execution } = context;
    const isReplaying = execution.isReplaying;
    const where = isStep ? `step "${context.stepName}"` : 'the body';
    const error = nameSource(context, thrown);
    const isFailed = isStep ? context.crash(error) : execution.crash(error);
    if (isReplaying || (!isFailed && late.has(context))) return;
    if (!isFailed) late.add(context);
    const then = isFailed ? 'which fails by it' : 'which was over by then';
    const message = `Code of ${where}, ${then}, threw where nothing could catch it: ${textOfThrown(error, placeOf)}`;
    const step = isStep ? { step: context.stepName } : {};
    execution.ambient.log({ level: 'error', message, run: execution.run, ...step });
  });
}

/** An error of Node itself, as that of an `error` event is, leads to no line of the workspace. */
function nameSource(context: EngineContext, thrown: unknown): unknown {
  try {
    if (!(thrown instanceof Error) || String(thrown.stack).split('\n').some(isOfWorkspace)) return thrown;
    const source = context.kind === 'step' ? `step "${context.stepId}"` : `the body of "${context.execution.run.name}"`;
    const message = `${thrown.message} (an event that nothing listens for, or a callback, in ${source})`;
    const { name, code } = thrown as Error & { code?: unknown };
    const error = Object.assign(new Error(message, { cause: thrown }), code === undefined ? {} : { code });
    Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
    return Object.assign(error, { stack: `${name}: ${message}` });
  } catch {
    return thrown;
  }
}

function placeOf({ stack }: Error): string {
  const place = String(stack).split('\n').find(isOfWorkspace)?.trim();
  return place === undefined ? '' : ` (${place})`;
}

/** As Node does where no one listens. */
function endProcess(thrown: unknown): never {
  try {
    writeSync(process.stderr.fd, `Uncaught:\n${inspect(thrown)}\n\nNode.js ${process.version}\n`);
  } finally {
    process.exit(1);
  }
}
