import fc from 'fast-check';
import { FatalError } from './errors.ts';
import { step } from './_setup.ts';
import type { Code } from './_setup.ts';
import { startWorkflowAndWait } from './primitives/child-workflow.ts';
import { continueAsNew } from './primitives/continue-as-new.ts';
import { createHook } from './primitives/hook.ts';
import { getStepMetadata } from './primitives/metadata.ts';
import { publish } from './primitives/publish.ts';
import { sleep } from './primitives/sleep.ts';
import { createStep } from './primitives/step.ts';

/** One thing a body does. A program is a list of them, and what it returns is what each has come to. */
export type Op =
  /** Fails so many times before it succeeds; `fatal` always fails, and the body catches it. */
  | { op: 'step'; fails: number | 'fatal'; isSync: boolean }
  | { op: 'sleep'; ms: number }
  /** Makes a hook of the token, and awaits it so many times. */
  | { op: 'hook'; token: number; takes: number }
  /** One hook, iterated. */
  | { op: 'loop'; token: number; takes: number }
  | { op: 'all'; ops: Op[] }
  | { op: 'race'; ops: Op[] }
  /** A step that begins now and is awaited after the others; or never, without `ops`. */
  | { op: 'early'; ops: Op[] }
  | { op: 'unawaited' }
  | { op: 'child'; ops: Op[] }
  /** Work of the platform: no call of the engine's. */
  | { op: 'digest' }
  /** What the guard gives a body: time and randomness. */
  | { op: 'world' }
  | { op: 'publish' }
  /** A step that ends when its signal is aborted: by the body, or by a step beside it. */
  | { op: 'abort'; by: 'body' | 'step' }
  /** A step function is handed to a step, and a step returns one. */
  | { op: 'value' };

/** What a run of `go` is asked to do. It continues as one that does what `next` says. */
export interface Program {
  ops: Op[];
  next?: Op[];
}

/** The input of `go`. */
export interface Asked extends Program {
  /** It fails after its operations, until that is mended. */
  breaks?: boolean;
}

/** Asked of each attempt of a step, by its idempotency key. */
export type OnAttempt = (key: string) => void;

/** The step the body of `go` ends with. */
export const CLEAN_UP = 'clean-up';

/** The step that fails where the run is to. */
export const BREAK = 'break';

/**
 * The workflow `go`, which does what its input says and then cleans up, and `child`, which does what its input says.
 * `isMended`: what breaks does so no more.
 */
export function toCode(onAttempt: OnAttempt, isMended: () => boolean = () => true): Code {
  const work = createWork(onAttempt);
  const breakDown = step(BREAK, () => {
    if (!isMended()) throw new FatalError('broken');
  });
  const cleanUp = step(CLEAN_UP, () => onAttempt(getStepMetadata().idempotencyKey));
  const interpret = async (ops: Op[]): Promise<unknown[]> => {
    const results: unknown[] = [];
    for (const op of ops) results.push(await interpretOne(op));
    return results;
  };
  const interpretOne = async (op: Op): Promise<unknown> => {
    switch (op.op) {
      case 'step':
        return work(op).catch((error: Error) => error.message);
      case 'sleep':
        await sleep(op.ms);
        return 'slept';
      case 'hook': {
        const payloads: unknown[] = [];
        using hook = createHook<string>({ token: tokenOf(op.token) });
        for (let i = 0; i < op.takes; i++) payloads.push(await hook);
        return payloads;
      }
      case 'loop': {
        const payloads: unknown[] = [];
        using hook = createHook<string>({ token: tokenOf(op.token) });
        for await (const payload of hook) if (payloads.push(payload) === op.takes) break;
        return payloads;
      }
      case 'all':
        return Promise.all(op.ops.map(interpretOne));
      case 'race':
        return Promise.race(op.ops.map(async (one, index) => ({ index, value: await interpretOne(one) })));
      case 'early': {
        const begun = work({ fails: 0, isSync: false });
        const others = await interpret(op.ops);
        return [await begun, others];
      }
      case 'unawaited':
        void work({ fails: 0, isSync: false });
        return 'begun';
      case 'child':
        return startWorkflowAndWait('child', op.ops);
      case 'digest':
        return new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array([1])))[0];
      case 'world':
        return [Date.now() > 0, Math.random() < 1, Date.now(), Math.random()];
      case 'publish':
        publish({ at: 'here' });
        return 'published';
      case 'abort': {
        const controller = new AbortController();
        const watching = watch(controller.signal);
        if (op.by === 'step') return Promise.all([watching, abort(controller)]);
        await sleep(1);
        controller.abort('stop');
        return [await watching, controller.signal.aborted];
      }
      case 'value': {
        const chosen = await choose();
        return [await apply(increment, 1), await chosen(2)];
      }
    }
  };
  const go = async ({ ops, next, breaks }: Asked): Promise<unknown[]> => {
    let results: unknown[];
    try {
      results = await interpret(ops);
      if (breaks) await breakDown();
    } finally {
      await cleanUp();
    }
    return next ? continueAsNew({ ops: next }) : results;
  };
  return { go: go as Code[string], child: interpret as Code[string] };
}

/** What is wrong with a result of the program, in sentences. */
export function findWrong(ops: readonly Op[], results: unknown, where = 'program'): string[] {
  if (!Array.isArray(results) || results.length !== ops.length)
    return [`The ${where} has ${JSON.stringify(results)} for ${ops.length} operations.`];
  return ops.flatMap((op, index) => findWrongOne(op, results[index], `${where}.${index}`));
}

/** Resumes that were given to the body: none of them twice, and those of a token in order. */
export function listPayloads(value: unknown): string[] {
  if (typeof value === 'string') return /^token-\d+\/\d+$/.test(value) ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listPayloads) : [];
}

const lists: fc.Arbitrary<Op[]> = fc.array(
  fc.letrec<{ op: Op; leaf: Op; ops: Op[] }>((tie) => ({
    leaf: fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({
          op: fc.constant('step' as const),
          fails: fc.constantFrom<number | 'fatal'>(0, 0, 0, 1, 2, 'fatal'),
          isSync: fc.boolean(),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({ op: fc.constant('sleep' as const), ms: fc.constantFrom(0, 1, 3.5, 8, 30) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          op: fc.constant('hook' as const),
          token: fc.nat(1),
          takes: fc.integer({ min: 1, max: 2 }),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          op: fc.constant('loop' as const),
          token: fc.nat(1),
          takes: fc.integer({ min: 1, max: 3 }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom<Op>(
          { op: 'digest' },
          { op: 'world' },
          { op: 'publish' },
          { op: 'unawaited' },
          { op: 'value' },
          { op: 'abort', by: 'body' },
          { op: 'abort', by: 'step' },
        ),
      },
    ),
    ops: fc.array(tie('op'), { minLength: 1, maxLength: 3 }),
    op: fc.oneof(
      { maxDepth: 2, depthSize: 'small' },
      { weight: 4, arbitrary: tie('leaf') },
      {
        weight: 1,
        arbitrary: fc.record({
          op: fc.constantFrom('all' as const, 'race' as const, 'early' as const, 'child' as const),
          ops: tie('ops'),
        }),
      },
    ),
  })).op,
  { minLength: 1, maxLength: 5 },
);

export const programs: fc.Arbitrary<Program> = fc
  .oneof(
    { weight: 5, arbitrary: fc.record({ ops: lists }) },
    { weight: 1, arbitrary: fc.record({ ops: lists, next: lists }) },
  )
  .map(({ ops, next }: Program) => ({
    ops: apart(ops, OF_CHILDREN),
    ...(next && { next: apart(next, 2 * OF_CHILDREN) }),
  }));

// --- internal ---

/** Above any that the operations of one run have. */
const OF_CHILDREN = 1_000;

/**
 * A token is open in one place at a time: hooks beside each other get tokens of their own, and those of children begin at
 * `children`. A run that goes on while one of them is left open, as a race leaves it, hands it to the run it continues as.
 */
function apart(ops: Op[], children: number): Op[] {
  let n = 0;
  const visit = (op: Op, base: number, from: number): Op => {
    if (op.op === 'hook' || op.op === 'loop') return { ...op, token: base * 2 + op.token };
    if (!('ops' in op)) return op;
    const within = op.op === 'child' ? children : from;
    return { ...op, ops: op.ops.map((one) => visit(one, op.op === 'early' ? base : within + ++n, within)) };
  };
  return ops.map((op) => visit(op, 0, 0));
}

function tokenOf(token: number): string {
  return `token-${token}`;
}

// Steps as the compiler writes them: each is known by its name in every process.
const increment = createStep('programs.ts#increment', async (n: number) => n + 1);
const apply = createStep('programs.ts#apply', async (fn: typeof increment, n: number) => fn(n));
const choose = createStep('programs.ts#choose', async () => increment);
const watch = createStep('programs.ts#watch', async (signal: AbortSignal) => {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  return signal.reason as unknown;
});
const abort = createStep('programs.ts#abort', async (controller: AbortController) => {
  controller.abort('stop');
  return controller.signal.aborted;
});

function createWork(onAttempt: OnAttempt) {
  const attempt = (fails: number | 'fatal'): string => {
    const { attempt: count, idempotencyKey } = getStepMetadata();
    onAttempt(idempotencyKey);
    if (fails === 'fatal') throw new FatalError('declined');
    if (count <= fails) throw new Error('not yet');
    return 'worked';
  };
  const quick = { backoff: { initial: 1 } };
  const pause = () => new Promise((done) => setTimeout(done, 1));
  const slow = step('work', async (fails: number | 'fatal') => (await pause(), attempt(fails)), quick);
  const sync = step('work-at-once', attempt, quick);
  return ({ fails, isSync }: { fails: number | 'fatal'; isSync: boolean }) => (isSync ? sync(fails) : slow(fails));
}

function findWrongOne(op: Op, result: unknown, where: string): string[] {
  const is = (isRight: boolean): string[] =>
    isRight ? [] : [`The ${op.op} at ${where} came to ${JSON.stringify(result)}.`];
  switch (op.op) {
    case 'step':
      return is(result === (op.fails === 'fatal' ? 'declined' : 'worked'));
    case 'sleep':
      return is(result === 'slept');
    case 'hook':
    case 'loop':
      return is(
        Array.isArray(result) &&
          result.length === op.takes &&
          result.every((payload) => String(payload).startsWith(`${tokenOf(op.token)}/`)),
      );
    case 'all':
    case 'child':
      return findWrong(op.ops, result, where);
    case 'race': {
      const { index, value } = (result ?? {}) as { index: number; value: unknown };
      const winner = op.ops[index];
      return winner ? findWrongOne(winner, value, `${where}.${index}`) : is(false);
    }
    case 'early':
      return Array.isArray(result) && result[0] === 'worked' ? findWrong(op.ops, result[1], where) : is(false);
    case 'unawaited':
      return is(result === 'begun');
    case 'digest':
      return is(result === 75);
    case 'world':
      return is(Array.isArray(result) && result[0] === true && result[1] === true);
    case 'publish':
      return is(result === 'published');
    case 'abort':
      return is(JSON.stringify(result) === '["stop",true]');
    case 'value':
      return is(JSON.stringify(result) === '[2,3]');
  }
}
