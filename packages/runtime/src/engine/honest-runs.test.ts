import { describe, expect, test } from 'vitest';
import { gzip } from 'node:zlib';
import { scrypt, sign, generateKeyPairSync } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { release, version } from 'node:os';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { goOnAfterKill, newJournalPath, outputOf, step, until, useBenches } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { createHook } from './primitives/hook.ts';
import { loadModule } from './primitives/load-module.ts';
import { sleep } from './primitives/sleep.ts';
import { FatalError } from './errors.ts';
import { decode, encode } from './serialize.ts';
import { differenceOf } from './values/difference.ts';

// Code that does the same again is never blocked.

const bench = useBenches();

/** Runs `body` up to its hook, ends the process, and lets another one replay it: the run must complete. */
async function replays(place: Parameters<typeof bench>[0], body: () => Promise<unknown>): Promise<unknown> {
  const code = {
    go: async () => {
      await body();
      await createHook({ token: 'go-on' });
      return body();
    },
  };
  const { second, runId } = await goOnAfterKill(bench, place, code);
  const row = await second.engine.wait(runId, 20_000);
  expect(row?.waitingFor ?? null).toBeNull();
  expect(row?.status).toBe('completed');
  return outputOf(row);
}

const report = step('report', (value: unknown) => (value instanceof Error ? value.message : value));

const ERRORS: Record<string, () => unknown> = {
  Error: () => new Error('no'),
  TypeError: () => new TypeError('no'),
  'of the language': () => (undefined as unknown as { x: number }).x,
  AggregateError: () => new AggregateError([new Error('a'), new Error('b')], 'no'),
  DOMException: () => new DOMException('no', 'AbortError'),
  'with a cause': () => new Error('no', { cause: new Error('inner') }),
  'the reason of an abort': () => AbortSignal.abort().reason as unknown,
};

describeOnStores('an error made in a body', (newPlace) => {
  test.each(Object.entries(ERRORS))('%s, handed to a step, replays', async (_, make) => {
    await replays(newPlace(), async () => {
      try {
        throw make();
      } catch (error) {
        return report(error);
      }
    });
  });

  const fails = step('fails', () => {
    throw new FatalError('declined');
  });
  /** The stack of a failure is made behind what the loop of the process has just done. */
  const wrap = async (): Promise<void> => {
    try {
      await fails();
    } catch (cause) {
      throw new Error('outer', { cause });
    }
  };

  test.each<[name: string, work: () => unknown, tell: (error: Error) => unknown]>([
    ['as text', () => JSON.parse('{') as unknown, ({ stack }) => stack],
    ['in an object', () => JSON.parse('{') as unknown, ({ message, stack }) => ({ message, stack })],
    ['of what is refused', () => setTimeout(() => undefined, 1), ({ stack }) => stack],
    ['of one wrapped behind a step', wrap, (error) => [error.stack, (error.cause as Error).stack]],
  ])('its stack, handed to a step %s, replays', async (_, work, tell) => {
    await replays(newPlace(), async () => {
      try {
        await work();
      } catch (error) {
        return report(tell(error as Error));
      }
    });
  });
});

/** The types of Node do not name it. */
const wasm = (globalThis as unknown as { WebAssembly: { compile(bytes: Uint8Array): Promise<object> } }).WebAssembly;

const PLATFORM: Record<string, () => Promise<unknown>> = {
  'crypto.subtle.digest': async () =>
    Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from('x'))).toString('hex'),
  'an HMAC of crypto.subtle': async () => {
    const how = { name: 'HMAC', hash: 'SHA-256' };
    const key = await crypto.subtle.importKey('raw', Buffer.from('secret'), how, false, ['sign']);
    return Buffer.from(await crypto.subtle.sign('HMAC', key, Buffer.from('x'))).toString('hex');
  },
  'zlib.gzip': async () => ((await promisify(gzip)('x')) as Buffer).length,
  'crypto.scrypt': async () => ((await promisify(scrypt)('x', 'salt', 16)) as Buffer).toString('hex'),
  'import()': async () => typeof (await import('node:querystring')).parse,
  'WebAssembly.compile': async () => String(await wasm.compile(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0))),
  'Blob.text': async () => new Blob(['x']).text(),
  'performance.now': async () => [performance.now(), performance.timeOrigin, new Event('x').timeStamp],
  'process.version and os.release': async () => [process.version, process.versions.v8, release(), version()],
  'a number in the locale of the process': async () => (1234.5).toLocaleString(),
  'Response.json': async () => Response.json({ a: 1 }).json(),
};

/** It may use timers: it is evaluated outside of the run. */
const SLOW_MODULE = 'data:text/javascript,await new Promise((done) => setTimeout(done, 200)); export default 1;';

async function readAll(source: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const part of source) text += part;
  return text;
}

/** Node's own emitters answer in a tick, each behind the one before. */
async function emitted(ticks: number): Promise<unknown[]> {
  const emitter = new EventEmitter();
  const emit = (left: number): void => void (left === 0 ? emitter.emit('done') : process.nextTick(emit, left - 1));
  process.nextTick(emit, ticks);
  return once(emitter, 'done');
}

describeOnStores('a body that awaits the platform', (newPlace) => {
  test.each(Object.entries(PLATFORM))('%s replays', async (_, work) => {
    await replays(newPlace(), async () => report(await work()));
  });

  test('sees what it awaits in the same order, beside steps', async () => {
    const seen = await replays(newPlace(), async () => {
      const order: string[] = [];
      const branch = async (name: string, work: () => Promise<unknown>): Promise<void> => {
        for (let n = 0; n < 4; n++) {
          await work();
          order.push(name);
          await report(`${name}${n}`);
        }
      };
      await Promise.all([
        branch('hash', () => crypto.subtle.digest('SHA-256', new Uint8Array(1_000_000))),
        branch('step', () => report('x')),
        branch('zip', () => promisify(gzip)(Buffer.alloc(500_000))),
      ]);
      return order.join();
    });
    expect(seen).toContain('hash');
  });

  test.each<[name: string, work: () => Promise<unknown>]>([
    ['a digest', () => crypto.subtle.digest('SHA-256', new Uint8Array(100_000_000))],
    ['a stream of Node', () => readAll(Readable.from(['a', 'b', 'c']))],
    ['a pipeline', () => pipeline(Readable.from(['a']), new PassThrough(), (source) => readAll(source))],
    ['an event', () => emitted(5)],
    ['a module', () => loadModule(() => import(SLOW_MODULE) as Promise<unknown>)],
  ])('is not parked while it awaits %s: the step behind it runs beside a sleep', async (_, work) => {
    let isSaved = false;
    const save = step('save', () => void (isSaved = true));
    const { start, journal } = await bench(
      newPlace(),
      {
        go: async () =>
          Promise.race([
            sleep('1h'),
            (async () => {
              await work();
              return save();
            })(),
          ]),
      },
      { limits: { parkAfter: 0 } },
    );
    const { runId } = await start('go');
    await until(async () => (await journal.getRun(runId))?.status === 'completed', 60_000);
    expect(isSaved).toBe(true);
  });
});

describe('what a body may not ask', () => {
  test.each([
    [
      'crypto.sign with a drawn number',
      () => sign('sha256', Buffer.from('x'), generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey),
    ],
    [
      'crypto.subtle.sign with ECDSA',
      () => void crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, {} as never, new Uint8Array()),
    ],
    ['new CompressionStream', () => new CompressionStream('gzip')],
  ])('%s is refused at the first call', async (_, ask) => {
    const { run } = await bench(newJournalPath(), { go: async () => void ask() });
    const row = await run('go');
    expect(row.status).toBe('failed');
    expect(row.error).toContain('not_deterministic');
  });
});

describe('time in a body', () => {
  test('performance counts from the beginning of the run, in every process', async () => {
    const { run } = await bench(newJournalPath(), {
      go: async () => ({
        origin: performance.timeOrigin,
        differs: performance.timeOrigin + performance.now() - Date.now(),
        stamp: new Event('x').timeStamp - performance.now(),
        file: new File([], 'x').lastModified - Date.now(),
      }),
    });
    const row = await run('go');
    expect(outputOf(row)).toEqual({ origin: row.createdAt, differs: 0, stamp: 0, file: 0 });
    expect(performance.timeOrigin + performance.now()).toBeCloseTo(Date.now(), -3);
    expect(new File([], 'x', { lastModified: 5 })).toMatchObject({ lastModified: 5 });
  });
});

describe('arguments are compared by what the code has chosen', () => {
  const same = (a: unknown, b: unknown): unknown => differenceOf(encode(a, ''), encode(b, ''));
  test('the order of keys, a stack and a system number are no difference', () => {
    const error = (stack: string, errno: number) => Object.assign(new Error('x'), { stack, errno });
    expect(same({ a: 1, b: [2, { c: 3, d: 4 }] }, { b: [2, { d: 4, c: 3 }], a: 1 })).toBeUndefined();
    expect(same([error('here', -2)], [error('there', -4058)])).toBeUndefined();
    const stack = (text: string, ...frames: string[]) => [text, ...frames.map((frame) => `    at ${frame}`)].join('\n');
    expect(
      same(stack('Error: x', 'go (a.ts:1:2)', 'run (b.ts:3:4)'), stack('Error: x', 'go (a.ts:9:2)')),
    ).toBeUndefined();
    expect(same(stack('Error: x', 'go (a.ts:1:2)'), stack('Error: y', 'go (a.ts:1:2)'))).toBeDefined();
    expect(same('we meet\n at noon', 'we meet\n at night')).toBeDefined();
    expect(same(new Map([[{ a: 1, b: 2 }, 1n]]), new Map([[{ b: 2, a: 1 }, 1n]]))).toBeUndefined();
    const cycle = (): object => {
      const made: Record<string, unknown> = { n: 1 };
      return Object.assign(made, { self: made });
    };
    expect(same(cycle(), cycle())).toBeUndefined();
  });

  test.each([
    [{ a: 1 }, { a: 2 }, 'a', '1', '2'],
    [{ a: { b: [1, 2, 3] } }, { a: { b: [1, 2] } }, 'a.b[2]', '3', 'nothing'],
    [{ a: 1 }, {}, 'a', '1', 'nothing'],
    [new Date(0), new Date(1), '', '"1970-01-01T00:00:00.000Z"', '"1970-01-01T00:00:00.001Z"'],
    [[1n], [2n], '[0]', '1n', '2n'],
    [[new Error('a')], [new Error('b')], '[0].message', '"a"', '"b"'],
    [new Uint8Array([1]), new Uint8Array([2]), '', '[object Uint8Array]', '[object Uint8Array]'],
    [new Set([1]), [1], '', '[1]', '[1]'],
  ])('two values differ in one place (%#)', (a, b, path, recorded, called) => {
    expect(same(a, b)).toEqual({ path, recorded, called });
  });

  test('what earlier builds have recorded is still read', () => {
    // The texts are those of the journal: they may never change their meaning.
    const golden = [
      '2{"args":[1,"a",{"b":true}]}',
      '1[{"args":1},[2,3],["Date","2026-01-01T00:00:00.000Z"],["Map",4,5],"k",["BigInt","7"]]',
      '1[{"args":1},[2],["Error",3],{"name":4,"message":5,"stack":6,"code":7},"TypeError","no","TypeError: no\\n at x","E"]',
    ];
    for (const text of golden) expect(differenceOf(text, encode(decode(text), ''))).toBeUndefined();
  });
});

describe('a view of a part of a buffer', () => {
  const BESIDE = 'authorization: what another request holds';
  /** As Node cuts them from its pool: whatever else is in it. */
  const viewBeside = (beside: string): Uint8Array => {
    const pool = Buffer.from(`${beside}hello${beside}`);
    return new Uint8Array(pool.buffer, pool.byteOffset + beside.length, 5);
  };

  test.each<[name: string, view: ArrayBufferView, same: ArrayBufferView]>([
    ['bytes', viewBeside(BESIDE), new TextEncoder().encode('hello')],
    ['a Buffer', Buffer.from(`${BESIDE}hello`).subarray(BESIDE.length), new TextEncoder().encode('hello')],
    ['numbers', new Float64Array([7, 8, 9, 10]).subarray(1, 3), new Float64Array([8, 9])],
    ['a DataView', new DataView(Uint8Array.of(9, 1, 2, 9).buffer, 1, 2), new DataView(Uint8Array.of(1, 2).buffer)],
  ])('is recorded as what it shows: %s', (_, view, same) => {
    expect(encode(view, '')).toBe(encode(same, ''));
    expect(decode(encode([view, view], ''))).toStrictEqual([same, same]);
  });

  test('handed to a step replays where other things lie beside it', async () => {
    const send = step('send', (bytes: Uint8Array) => bytes.length);
    let beside = BESIDE;
    const body = async (): Promise<number> => {
      beside += '!';
      return send(viewBeside(beside));
    };
    expect(await replays(newJournalPath(), body)).toBe(5);
  });

  test('that an earlier build recorded with all of its buffer is the same', () => {
    const older = '1[{"args":1},[2],["Uint8Array",3,1,2],["ArrayBuffer","CQECCQ=="]]';
    const now = encode({ args: [Uint8Array.of(9, 1, 2, 9).subarray(1, 3)] }, '');
    expect(differenceOf(older, now)).toBeUndefined();
    expect(differenceOf(older, encode({ args: [Uint8Array.of(1, 3)] }, ''))).toBeDefined();
  });
});

describe('a run that is blocked', () => {
  test('says both values and where they differ', async () => {
    const place = newJournalPath();
    const take = step('take', (_order: object) => 1);
    const code = (amount: number) => ({
      go: async () => {
        await take({ id: 'o1', lines: [{ amount }] });
        return createHook({ token: 'go-on' });
      },
    });
    const first = await bench(place, code(100));
    const { runId } = await first.start('go');
    await until(async () => (await first.journal.getRun(runId))?.status === 'waiting');
    await first.kill();
    const second = await bench(place, code(101), { codeHash: 'other' });
    await second.engine.resumeHook('go-on', 1);
    await until(async () => (await second.journal.getRun(runId))?.status === 'blocked');
    const row = await second.journal.getRun(runId);
    expect(JSON.parse(row?.waitingFor ?? '{}')).toMatchObject({
      code: 'code_changed',
      message: expect.stringContaining('"args[0].lines[0].amount" was 100, is 101') as string,
      difference: { path: 'args[0].lines[0].amount', recorded: '100', called: '101' },
    });
  });
});
