import type { Call } from '../call.ts';
import { runOutside } from '../context.ts';
import { isOwnFrame, readFrame } from '../own-frames.ts';

/**
 * Rejects the answer of a call. What the runtime has made by itself, such as the error of a timeout, leads to no code of
 * the workspace: its stack says in addition which line waits for the answer.
 */
export function rejectCall(call: Call, error: unknown): void {
  if (isPlaced(error)) {
    call.answer.ignoreUnhandled();
    return call.reject(error);
  }
  into = call;
  Reflect.apply(real.all, AsAnswer, [[placeAndThrow(error as Error, call)]]);
  into = undefined;
}

/**
 * What ends a run while its body waits for the answer of the call, which the call is not given: its stack says in addition
 * which line that is. Without a call it stays as it is.
 */
export function placeAt(call: Call | undefined, error: Error): Promise<void> {
  if (!call) return Promise.resolve();
  return new Promise((done) => {
    into = call;
    Reflect.apply(real.all, AsAnswer, [[placeAndRest(error, call, done)]]);
    into = undefined;
  });
}

/** Whether a line of a stack lies in code of the workspace. */
export function isOfWorkspace(line: string): boolean {
  const frame = readFrame(line);
  return frame !== undefined && !isOwnFrame(frame) && !PACKAGE.test(frame.file);
}

// --- internal ---

/** A body may have others. */
const real = { all: Promise.all };
/** Those of the runtime are among them, and are left out. */
const MOST_FRAMES = 30;
const PACKAGE = /[\\/]node_modules[\\/]/;

let into: Call | undefined;

/**
 * The promise that `Promise.all` makes, here the answer itself. V8 follows one from its parts to the function that awaits
 * it, when a stack is taken, so where a call was made is known without having been written down at each call; of a
 * promise that is resolved with another it may not.
 */
const AsAnswer = Object.assign(
  function (use: (...settle: [Call['resolve'], Call['reject']]) => void) {
    const { answer, resolve, reject } = into as Call;
    use(resolve, reject);
    return answer;
  },
  { resolve: <T>(part: T): T => part },
);

async function placeAndThrow(error: Error, { answer }: Call): Promise<never> {
  await undefined;
  addFrames(error);
  // Not before: who awaits a promise that is asked for twice is not on the stack.
  answer.ignoreUnhandled();
  throw error;
}

/** Never ends, so the answer is never given. */
async function placeAndRest(error: Error, { answer }: Call, done: () => void): Promise<never> {
  await undefined;
  addFrames(error);
  answer.ignoreUnhandled();
  done();
  return new Promise(() => {});
}

/** Called where what awaits the answer is on the stack. */
function addFrames(error: Error): void {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = MOST_FRAMES;
  const here = new Error('here');
  Error.stackTraceLimit = stackTraceLimit;
  // Outside, because the stack may be mapped by source maps that are read from files.
  const frames = runOutside(() => here.stack ?? '')
    .split('\n')
    .filter(isOfWorkspace);
  if (frames.length > 0) error.stack = [error.stack, ...frames].join('\n');
}

function isPlaced(error: unknown): boolean {
  if (!(error instanceof Error)) return true;
  const { stack } = error;
  return typeof stack !== 'string' || stack.split('\n').some(isOfWorkspace);
}
