import { exec, execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os, { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import timers from 'node:timers/promises';
import { inspect, promisify } from 'node:util';
import worker from 'node:worker_threads';
import { build } from 'vite';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { runInContext } from '../context.ts';
import { DeterminismError } from '../errors.ts';
import { installGuard } from './guard.ts';
import { listRefusals } from './refusals.ts';
import type { Refusal } from './refusals.ts';

// A copy made after the guard is guarded; the named imports above follow it even though they came before.
const { readFile } = (installGuard(), fs);

const NOON = Date.UTC(2020, 0, 1, 12);
const values = new Map<string, string | undefined>();
const variables = {
  has: (name: string) => values.has(name),
  get: (name: string) => values.get(name),
  set: (name: string, value: string | undefined) => void values.set(name, value),
};
const execution = { world: { now: () => NOON, random: () => 0.5, variables } };
const inBody = <T>(work: () => T): T => runInContext({ kind: 'body', execution } as never, work);
const inStep = <T>(work: () => T): T => runInContext({ kind: 'step', execution } as never, work);
const outside = <T>(work: () => T): T => work();

const REFUSALS = listRefusals().map((one) => [one.label, one] as const);

/** Arguments that leave nothing behind; all others are called without, which Node refuses by itself or minds not. */
const HARMLESS: Record<string, unknown[]> = {
  'dns.lookup()': ['127.0.0.1'],
  'dns.promises.lookup()': ['127.0.0.1'],
  'http.get()': ['http://127.0.0.1:1'],
  'http.request()': ['http://127.0.0.1:1'],
  'https.get()': ['https://127.0.0.1:1'],
  'https.request()': ['https://127.0.0.1:1'],
  'new http.ClientRequest()': ['http://127.0.0.1:1'],
  'tls.connect()': [{ port: 1, host: '127.0.0.1' }],
  'cluster.fork()': [Symbol('refused by the fork')],
};

/** What ends, stops or changes this process, or leaves a file: nothing calls it here, for a test or by a fault of the guard. */
const LASTING =
  /^(?:process\.(?:abort|binding|chdir|dlopen|execve|exit|initgroups|kill|loadEnvFile|openStdin|reallyExit|report|set|umask)|v8\.(?:get|query|set|start|stop|take|write)|Atomics\.wait|cluster\.(?:disconnect|setup)|vm\.measure)/;

type AnyFunction = (...args: unknown[]) => unknown;

function functionOf({ holder, key }: Refusal): AnyFunction {
  return Reflect.get(holder, key) as AnyFunction;
}

/** Calls the function as found now, and releases whatever it began. */
function use(refusal: Refusal): unknown {
  const { label, holder } = refusal;
  const args = HARMLESS[label] ?? [];
  const target = functionOf(refusal);
  return letGo(label.startsWith('new ') ? Reflect.construct(target, args) : Reflect.apply(target, holder, args));
}

function letGo(answer: unknown): unknown {
  const thing = answer as Record<string, AnyFunction> | null | undefined;
  if (typeof thing !== 'object' || thing === null) return answer;
  if (typeof thing['then'] === 'function') thing['then'](letGo, () => {});
  if (typeof thing['on'] === 'function') thing['on']('error', () => {});
  for (const name of ['destroy', 'close', 'return'])
    if (typeof thing[name] === 'function') {
      try {
        thing[name]();
      } catch {
        // It was never open.
      }
      break;
    }
  return answer;
}

function errorOf(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** A folder with the guard as `guard.mjs`, for a process of its own. */
async function buildGuard(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-guard-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const ssr = fileURLToPath(new URL('guard.ts', import.meta.url));
  await build({ root: folder, configFile: false, logLevel: 'silent', build: { ssr, outDir: folder } });
  return folder;
}

describe('a workflow body', () => {
  test.each(REFUSALS)('is refused %s with a sentence that names it and says what to do', (_, refusal) => {
    const error = inBody(() => errorOf(() => use(refusal)));
    expect(error).toBeInstanceOf(DeterminismError);
    expect((error as Error).message).toMatch(
      /^\S.* cannot be used in a workflow body, because a replay could not repeat it\. (?:Use|Move).*step\.$/,
    );
    const same = REFUSALS.filter(([, other]) => functionOf(other) === functionOf(refusal));
    expect(same.map(([name]) => name)).toContain((error as Error).message.replace(/ cannot.*/, ''));
  });

  test('is refused what a module took before the body ran, by name or as a copy', async () => {
    for (const work of [() => readFileSync('/'), () => readFile('/', () => {}), () => fs.promises.readFile('/')])
      expect(() => inBody(work)).toThrow(DeterminismError);
  });

  test('is refused the forms a function carries with it', () => {
    expect(() => inBody(() => fs.realpathSync.native('/'))).toThrow(/^fs\.realpathSync\.native\(\) cannot/);
    expect(() => inBody(() => process.hrtime.bigint())).toThrow(/^process\.hrtime\.bigint\(\) cannot/);
    expect(() => inBody(() => promisify(exec)('true'))).toThrow(DeterminismError);
    expect(() => inBody(() => promisify(setTimeout)(1))).toThrow(DeterminismError);
  });

  test('formats the present time as its own', () => {
    const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'short', timeStyle: 'short', timeZone: 'UTC' });
    const kept = format.format;
    expect(inBody(() => [format.format(), kept(), format.format(0)])).toEqual([
      '01/01/2020, 12:00',
      '01/01/2020, 12:00',
      '01/01/1970, 00:00',
    ]);
    expect(inBody(() => format.formatToParts().find(({ type }) => type === 'year')?.value)).toBe('2020');
    expect(format.format()).toBe(format.format(Date.now()));
    expect(format.format).toBe(kept);
  });

  test('may log, look at addresses, copy values, queue microtasks and read variables', async () => {
    const seen: string[] = [];
    await inBody(async () => {
      process.stdout.write('');
      queueMicrotask(() => seen.push('microtask'));
      await new Promise<void>((resolve) => process.nextTick(() => resolve(void seen.push('tick'))));
      seen.push(String(net.isIP('::1')), String(structuredClone(new Map([[1, 2]])).get(1)), typeof process.env['PATH']);
    });
    expect(seen.sort()).toEqual(['2', '6', 'microtask', 'string', 'tick']);
  });
});

describe('what the machine says of itself', () => {
  const ASKED: Record<string, () => unknown> = {
    'process.pid': () => process.pid,
    'process.version': () => process.version,
    'process.versions.v8': () => process.versions.v8,
    'process.platform': () => process.platform,
    'process.argv': () => process.argv.length,
    'os.release()': () => os.release(),
    'os.version()': () => os.version(),
    'os.tmpdir()': () => os.tmpdir(),
    toLocaleString: () => (1234.5).toLocaleString(),
    localeCompare: () => ['ö', 'z'].sort((a, b) => a.localeCompare(b)).join(''),
    'new Intl.NumberFormat': () => new Intl.NumberFormat().format(1234.5),
    'Intl.NumberFormat of a locale': () => Intl.NumberFormat('fr').resolvedOptions().locale,
    'the local time': () => new Date(0).toString(),
    'the local zone': () => Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...('navigator' in globalThis
      ? {
          'navigator.userAgent': () =>
            (globalThis as unknown as { navigator: { userAgent: string } }).navigator.userAgent,
        }
      : {}),
  };

  test.each(Object.entries(ASKED))('%s is read first as it is', (_, ask) => {
    values.clear();
    expect(inBody(ask)).toEqual(outside(ask));
    expect(inBody(ask)).toEqual(inStep(ask));
  });

  test('is what the run has recorded on another machine', () => {
    const other = {
      'process.pid': 7,
      'process.version': 'v1.2.3',
      'process.versions': { v8: '1' },
      'process.platform': 'other',
      'process.argv': ['a'],
      'os.release()': '1',
      'os.version()': '2',
      'os.tmpdir()': '/other',
      'Intl.locale': 'sv-SE',
    };
    for (const [name, value] of Object.entries(other)) values.set(name, JSON.stringify(value));
    const asked = Object.fromEntries(Object.entries(ASKED).map(([name, ask]) => [name, inBody(ask)]));
    expect(asked).toMatchObject({
      'process.pid': 7,
      'process.version': 'v1.2.3',
      'process.versions.v8': '1',
      'process.platform': 'other',
      'process.argv': 1,
      'os.release()': '1',
      'os.version()': '2',
      'os.tmpdir()': '/other',
      toLocaleString: '1\u00a0234,5',
      localeCompare: 'zö',
      'new Intl.NumberFormat': '1\u00a0234,5',
      'Intl.NumberFormat of a locale': 'fr',
    });
    expect(process.version).not.toBe('v1.2.3');
    values.clear();
  });

  test('local time is UTC where no zone is set, and what TZ says where one is', async () => {
    const folder = await buildGuard();
    writeFileSync(
      join(folder, 'main.mjs'),
      `import { installGuard } from './guard.mjs'; installGuard(); console.log(new Date(0).toString().slice(16, 33));`,
    );
    const zoneWith = (env: Record<string, string>) =>
      execFileSync(process.execPath, [join(folder, 'main.mjs')], { encoding: 'utf8', env }).trim();
    expect(zoneWith({})).toBe('00:00:00 GMT+0000');
    expect(zoneWith({ TZ: 'Asia/Tokyo' })).toBe('09:00:00 GMT+0900');
  });

  test('arguments may be set by the process', () => {
    const { argv } = process;
    process.argv = [...argv, 'more'];
    expect(process.argv.at(-1)).toBe('more');
    process.argv = argv;
    class Own extends Intl.NumberFormat {}
    expect(new Own('en')).toBeInstanceOf(Intl.NumberFormat);
    expect(Intl.NumberFormat.supportedLocalesOf('en')).toEqual(['en']);
  });
});

describe('process.env in a body', () => {
  const NAME = 'SVC_GUARD_TEST';
  beforeEach(() => {
    values.clear();
    process.env[NAME] = 'first';
  });
  afterEach(() => void delete process.env[NAME]);

  test('is what it was when the body first looked, by any way of looking', () => {
    const look = () => [process.env[NAME], NAME in process.env, Object.hasOwn(process.env, NAME)];
    expect(inBody(look)).toEqual(['first', true, true]);
    process.env[NAME] = 'second';
    expect([inBody(look), inStep(look), look()]).toEqual([
      ['first', true, true],
      ['second', true, true],
      ['second', true, true],
    ]);
    delete process.env[NAME];
    expect([inBody(look), look()]).toEqual([
      ['first', true, true],
      [undefined, false, false],
    ]);
  });

  test('is missing for good when it was missing then', () => {
    const look = () => [process.env['SVC_GUARD_NONE'], 'SVC_GUARD_NONE' in process.env];
    expect(inBody(look)).toEqual([undefined, false]);
    process.env['SVC_GUARD_NONE'] = 'late';
    expect(inBody(look)).toEqual([undefined, false]);
    delete process.env['SVC_GUARD_NONE'];
  });

  test('can be neither listed nor changed', () => {
    const list = [() => Object.keys(process.env), () => ({ ...process.env })] as (() => unknown)[];
    for (const work of list)
      expect(() => inBody(work)).toThrow(/^Listing process\.env cannot be used in a workflow body.*by its name/);
    const change: (() => unknown)[] = [
      () => (process.env[NAME] = 'mine'),
      () => delete process.env[NAME],
      () => Object.defineProperty(process.env, NAME, { value: 'mine' }),
    ];
    for (const work of change) expect(() => inBody(work)).toThrow(DeterminismError);
    expect(process.env[NAME]).toBe('first');
  });

  test('is left alone where Node reads it', () => {
    inBody(() => inspect({ a: 1 }, { colors: true }));
    inBody(() => process.stdout.getColorDepth?.());
    expect([...values.keys()]).toEqual([]);
    expect(execFileSync(process.execPath, ['-p', `process.env.${NAME}`], { encoding: 'utf8' })).toBe('first\n');
  });
});

describe.each([
  ['a step', inStep],
  ['code outside of a run', outside],
] as const)('%s', (_, run) => {
  test.each(REFUSALS.filter(([label]) => !LASTING.test(label)))('may use %s', (_label, refusal) => {
    expect(run(() => errorOf(() => use(refusal)))).not.toBeInstanceOf(DeterminismError);
  });

  test('gets what the platform answers', async () => {
    const server = http.createServer((_request, response) => response.end('ok'));
    await run(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
    const { port } = server.address() as net.AddressInfo;
    expect(await run(async () => (await fetch(`http://127.0.0.1:${port}`)).text())).toBe('ok');
    server.closeAllConnections();
    server.close();
    const socket = run(() => new net.Socket());
    expect(socket).toBeInstanceOf(net.Socket);
    expect(run(() => execFileSync('echo', ['a'], { encoding: 'utf8' }))).toBe('a\n');
    expect(await run(() => promisify(fs.exists)('/'))).toBe(true);
  });
});

describe('the guard', () => {
  test('keeps what functions and classes carry', () => {
    expect(fs.readFileSync.name).toBe('readFileSync');
    expect(fs.readFileSync.length).toBe(2);
    expect(promisify(setTimeout)).toBe(timers.setTimeout);
    expect(Reflect.get(net, 'Stream')).toBe(net.Socket);
    expect(MessageChannel).toBe(worker.MessageChannel);
    class Own extends MessageChannel {}
    const channel = new Own();
    expect(channel).toBeInstanceOf(Own);
    channel.port1.close();
  });

  test('lets a body log to a file and load a module for the first time', async () => {
    const folder = await buildGuard();
    writeFileSync(join(folder, 'late.cjs'), `exports.size = require('node:fs').readFileSync(__filename).length;`);
    writeFileSync(join(folder, 'late.mjs'), `export const late = true;`);
    writeFileSync(
      join(folder, 'main.mjs'),
      `import { createRequire } from 'node:module';
      import { installGuard } from './guard.mjs';
      installGuard();
      const contexts = globalThis[Symbol.for('svc.engine.context')];
      await contexts.run({ kind: 'body', execution: { world: { now: () => 0, random: () => 0 } } }, async () => {
        console.log('logged in a body');
        const { size } = createRequire(import.meta.url)('./late.cjs');
        const { late } = await import('./late.mjs');
        console.log(size > 0, late);
      });`,
    );
    const out = openSync(join(folder, 'out.txt'), 'w');
    execFileSync(process.execPath, [join(folder, 'main.mjs')], { stdio: ['ignore', out, 'inherit'] });
    closeSync(out);
    expect(readFileSync(join(folder, 'out.txt'), 'utf8')).toBe('logged in a body\ntrue true\n');
  });
});
