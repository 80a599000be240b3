import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { createBox, createLog, listen, openSqliteJournal } from '@svc/runtime/host';
import type { Box } from '@svc/runtime/host';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createDrizzle } from '../../runtime/src/stores/drizzle.ts';
import { toTestLine } from '../../dashboard/src/screens/run/lines.ts';
import { createStepper } from '../src/commands/replay/stepper.ts';
import { openHost } from '../src/dev/host.ts';
import { runCli } from './_run.ts';
import type { CliResult } from '../src/main.ts';
import { findPort, noteDev, readDocument, readError, UTF8 } from './_setup.ts';

const FIXTURE = fileURLToPath(new URL('./fixtures/history/', import.meta.url));
const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url));
const DEBUGGER = fileURLToPath(new URL('./_debugger.mjs', import.meta.url));
const TOKEN = 'tok-planted-0123456789';

interface Replayed {
  outcome: string;
  calls: { name: string; at: string | null; output: unknown }[];
  next: { name: string }[];
  difference: { code: string; message: string; recorded: string; called: string; at: string } | null;
  promoted: string | null;
}

let root: string;
let box: Box;
const closers: (() => unknown)[] = [];

/** A workspace, and a box that serves it as `svc dev` does, on an in-memory journal. */
beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-history-')));
  closers.push(() => rmSync(root, { recursive: true, force: true }));
  link(root);
  const host = await openHost({ root, say: () => {} });
  const journal = await openSqliteJournal({ path: ':memory:' });
  let url = '';
  box = await createBox({
    host: 'dev',
    slug: 'history',
    log: createLog({ level: 'silent', write: () => {} }),
    journal,
    exclusive: true,
    provider: {
      environment: { baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'none' },
      store: { read: async () => undefined, write: async () => {}, remove: async () => {} },
      egress: { allowLoopback: true, allowed: [] },
    },
    db: createDrizzle({} as never, Promise.resolve()),
    isBlank: () => true,
    defaultModel: () => undefined,
    loadProgram: async () => host.program(),
    probes: {},
    services: () => ({ database: { url: null }, storage: null, agent: { url } }),
  });
  const listener = await listen(box.app, { port: 0, host: '127.0.0.1' });
  url = listener.url;
  await box.gate.check();
  // The replays read the files as they are then; the box keeps what it has loaded.
  await host.close();
  closers.push(
    () => journal.close(),
    () => box.close(),
    () => listener.close(0),
  );
  await noteDev(root, { pid: process.pid, url, startedAt: new Date().toISOString() });
});

afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

function link(folder: string): void {
  cpSync(FIXTURE, folder, { recursive: true });
  mkdirSync(join(folder, 'node_modules/@svc'), { recursive: true });
  for (const name of ['runtime', 'compiler'])
    symlinkSync(join(REPOSITORY, 'packages', name), join(folder, `node_modules/@svc/${name}`));
  symlinkSync(join(REPOSITORY, 'node_modules/vitest'), join(folder, 'node_modules/vitest'));
  symlinkSync(join(REPOSITORY, 'node_modules/vite'), join(folder, 'node_modules/vite'));
}

async function start(input: object, status: string): Promise<string> {
  const body = JSON.stringify({ log: join(root, 'log.txt'), ...input });
  const headers = { 'content-type': 'application/json' };
  const answer = await box.request('/api/workflows/order/start', { method: 'POST', headers, body });
  const { runId } = (await answer.json()) as { runId: string };
  const end = performance.now() + 20_000;
  for (;;) {
    const run = (await (await box.request(`/api/runs/${runId}`)).json()) as {
      status: string;
      waitingFor: { type?: string };
    };
    if (run.status === status && run.waitingFor?.type !== 'sleep') return runId;
    if (performance.now() > end) throw new Error(`The run is ${run.status}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const svc = (...argv: string[]): Promise<CliResult> => runCli(argv, { cwd: root, env: UTF8 });
const replay = async (...argv: string[]): Promise<CliResult & Replayed> => {
  const result = await svc('replay', ...argv, '--json');
  return { ...result, ...(readDocument(result) as unknown as Replayed) };
};
const log = () => readFileSync(join(root, 'log.txt'), 'utf8');

/** Changes a file of the workspace for one test. */
function edit(file: string, from: string, to: string): void {
  const path = join(root, file);
  const before = readFileSync(path, 'utf8');
  if (!before.includes(from)) throw new Error(`"${file}" does not hold "${from}".`);
  writeFileSync(path, before.replace(from, to));
  onTestFinished(() => writeFileSync(path, before));
}

describe('svc why', () => {
  it('prints why a run waits, as a paragraph with facts and what to do', async () => {
    const runId = await start({ amount: 500 }, 'waiting');
    const { stdout, exitCode } = await svc('why', runId);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('order  waiting\n\nThe run waits until a person decides: "Charge 500?".\n\n');
    expect(stdout).toContain(`  run         ${runId}\n`);
    expect(stdout).toMatch(/ {2}build {7}[\w-]+ \(the code there is now\), svc \d/);
    expect(stdout).toMatch(/\nnext: Decide: `svc hitl approve [\w-]{43}` or `svc hitl reject [\w-]{43}`\.\n/);
    expect(readDocument(await svc('why', runId, '--json'))).toMatchObject({
      schema_version: 1,
      runId,
      status: 'waiting',
      reasons: [{ code: 'approval_pending' }],
    });
  });

  it('exits 4 for an unknown run', async () => {
    const result = await svc('why', 'nope', '--json');
    expect(result.exitCode).toBe(4);
    expect(readError(result).code).toBe('run_not_found');
  });
});

describe('svc pull run', () => {
  it('writes the history into the workspace, without secrets, for its owner alone, and replaces it only when asked to', async () => {
    const runId = await start({ amount: 5 }, 'completed');
    const file = join(root, '.svc/runs', `${runId}.json`);
    const pulled = readDocument(await svc('pull', 'run', runId, '--json'));
    expect(pulled).toMatchObject({
      runId,
      file,
      records: 5,
      masked: expect.arrayContaining(['records[3].output.json.token']),
    });
    expect(readFileSync(file, 'utf8')).not.toContain(TOKEN);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const again = await svc('pull', 'run', runId, '--json');
    expect([again.exitCode, readError(again).code]).toEqual([1, 'already_exists']);
    expect((await svc('pull', 'run', runId, '--force')).stdout).toContain(
      `Pulled order (completed), 5 records: .svc/runs/${runId}.json.`,
    );
    await svc('pull', 'run', runId, '--out', 'sub/other.json');
    expect(readFileSync(join(root, 'sub/other.json'), 'utf8')).toContain('"format": "svc.run"');
  });

  it('exits 4 for an unknown run, and writes nothing', async () => {
    const result = await svc('pull', 'run', 'nope', '--json');
    expect(result.exitCode).toBe(4);
    expect(existsSync(join(root, '.svc/runs/nope.json'))).toBe(false);
  });
});

describe('svc replay', () => {
  it('reports each step with its line, and runs none', async () => {
    const runId = await start({ amount: 5 }, 'completed');
    await svc('pull', 'run', runId);
    const before = log();
    const { outcome, calls, exitCode } = await replay(runId);
    expect([exitCode, outcome]).toEqual([0, 'same']);
    expect(calls.map(({ name }) => name)).toEqual(['charge', 'sleep', 'login', 'tell']);
    expect(calls[1]?.at).toMatch(/workflows\/order\.workflow\.ts:\d+$/);
    expect(log()).toBe(before);
    const { stdout } = await svc('replay', runId);
    expect(stdout).toContain(`order  run ${runId}, completed\n`);
    expect(stdout).toContain('#0 step charge(');
    expect(stdout).toContain('Secrets in this history are masked');
    expect(stdout).toContain('The same: the code ends as the run did. {"receipt":"r-5","at":0}');
  });

  it('takes a run the box has and a file, and stops where that is asked', async () => {
    const runId = await start({ amount: 6 }, 'completed');
    expect(await replay(runId, '--until', 'sleep')).toMatchObject({
      outcome: 'stopped',
      calls: [{}, { name: 'sleep' }],
    });
    const missed = await svc('replay', runId, '--until', 'slep', '--json');
    expect([missed.exitCode, readError(missed)]).toMatchObject([
      1,
      {
        message: '--until does not take "slep": the run has no answered call of that number or name.',
        suggestion: 'Its calls are 0 (charge), 1 (sleep), 2 (login), 3 (tell).',
      },
    ]);
    await svc('pull', 'run', runId, '--out', 'run.json', '--force');
    expect((await replay('run.json')).outcome).toBe('same');
  });

  it('ends with 1 at the first step that differs, and names both and the line', async () => {
    const runId = await start({ amount: 5 }, 'completed');
    edit('workflows/order.workflow.ts', 'await sleep(5);', "await tell(input.log, 'early');");
    const { exitCode, outcome, calls, difference } = await replay(runId);
    expect([exitCode, outcome, calls.length]).toEqual([1, 'differs', 1]);
    expect(difference).toMatchObject({
      code: 'code_changed',
      recorded: 'sleep',
      called: 'workflows/order.workflow.ts#tell',
      at: expect.stringMatching(/workflows\/order\.workflow\.ts:\d+$/),
    });
    const { stdout } = await svc('replay', runId);
    expect(stdout).toContain('The code differs: Call 1 of this run was recorded as "sleep"; the code now calls');
  });

  it('says what the code would do where the history of a waiting run ends', async () => {
    const runId = await start({ amount: 500 }, 'waiting');
    expect(await replay(runId)).toMatchObject({ outcome: 'open', next: [{ name: 'await approval' }], exitCode: 0 });
  });

  it('refuses what is no history, code that does not compile, and flags that exclude each other', async () => {
    writeFileSync(join(root, 'bad.json'), '{"format":"x"}');
    expect(readError(await svc('replay', 'bad.json', '--json')).code).toBe('history_invalid');
    expect(readError(await svc('replay', 'none.json', '--json')).code).toBe('history_invalid');
    expect(readError(await svc('replay', 'x', '--step', '--json')).message).toContain('--step');
    expect(readError(await svc('replay', 'x', '--inspect', '--inspect-port', 'a', '--json')).message).toContain('"a"');
    const runId = await start({ amount: 5 }, 'completed');
    edit('workflows/order.workflow.ts', 'await sleep(5);', 'await sleep(5;');
    expect(readError(await svc('replay', runId, '--json')).code).toBe('workflow_compile_failed');
  });

  it('holds after each step until a line is typed, and no more once the input has ended', async () => {
    const input = new PassThrough();
    const said: string[] = [];
    const stepper = createStepper((line) => said.push(line), input);
    onTestFinished(() => stepper.close());
    await stepper.wait();
    expect(said).toEqual([]);
    stepper.passed();
    const held = stepper.wait();
    expect(said).toEqual(['Press Enter for the next step.']);
    input.write('\n');
    await held;
    stepper.passed();
    const last = stepper.wait();
    input.end();
    await last;
    stepper.passed();
    await stepper.wait();
    expect(said).toHaveLength(2);
  });

  it('lets a debugger stop at a line of the workflow, with --inspect-brk', async () => {
    const runId = await start({ amount: 5 }, 'completed');
    const port = await findPort();
    const args = ['--experimental-websocket', '--no-warnings', DEBUGGER, String(port), 'order.workflow.ts', '8'];
    const debugged = execute(process.execPath, args, root);
    const result = await svc('replay', runId, '--inspect-brk', '--inspect-port', String(port));
    expect(result.exitCode).toBe(0);
    expect(result.stdout).toContain('The same:');
    const { stdout } = await debugged;
    expect(stdout.trim().split('\n')).toEqual(['pause elsewhere', 'breakpoint order.workflow.ts:8', 'paid "r-5"']);
  });
});

describe('svc replay --promote', () => {
  it('writes a test that passes, and fails once the body does something else', async () => {
    const runId = await start({ amount: 5 }, 'completed');
    const { promoted } = await replay(runId, '--promote', 'tests/order.test.ts');
    expect(promoted).toBe(join(root, 'tests/order.test.ts'));
    const text = readFileSync(join(root, 'tests/order.test.ts'), 'utf8');
    expect(text).toContain("import * as order from '../workflows/order.workflow.ts';");
    expect(text).not.toContain(TOKEN);
    const waiting = await start({ amount: 500 }, 'waiting');
    await replay(waiting, '--promote', 'tests/waiting.test.ts');
    const before = log();
    const passed = await runVitest();
    expect(passed.stdout + passed.stderr).toMatch(/Tests {2}2 passed/);
    expect(log()).toBe(before);
    edit('workflows/order.workflow.ts', 'const session = await login(input.log);', "const session = { token: '' };");
    const failed = await runVitest();
    expect(failed.code).not.toBe(0);
    expect(failed.stdout + failed.stderr).toContain(
      'was recorded as "workflows/order.workflow.ts#login"; the code now calls',
    );
  });

  it('is written by the line that the page of a run copies', async () => {
    const runId = await start({ amount: 5 }, 'completed');
    const [name, ...argv] = toTestLine({ runId, name: 'order' }).split(' ');
    expect(name).toBe('svc');
    const { promoted } = readDocument(await svc(...argv, '--json')) as unknown as Replayed;
    expect(promoted).toBe(join(root, `tests/order-${runId.slice(-8)}.test.ts`));
    expect(readFileSync(String(promoted), 'utf8')).toContain("from '../workflows/order.workflow.ts';");
    rmSync(String(promoted));
    // A name is no part of a command.
    expect(toTestLine({ runId, name: '$(touch x); ../up' })).toBe(
      `svc replay ${runId} --promote tests/touch-x-up-${runId.slice(-8)}.test.ts`,
    );
  });

  it('says what the test needs where vitest is not installed', async () => {
    const runId = await start({ amount: 5 }, 'completed');
    const promote = () => svc('replay', runId, '--promote', 'told.test.ts', '--force');
    onTestFinished(() => rmSync(join(root, 'told.test.ts'), { force: true }));
    const needs = 'npm i -D vitest @svc/compiler, and the vitest.config.ts of';
    expect((await promote()).stderr).not.toContain(needs);
    const [linked, aside] = [join(root, 'node_modules/vitest'), join(root, 'vitest.aside')];
    renameSync(linked, aside);
    onTestFinished(() => renameSync(aside, linked));
    expect((await promote()).stderr).toContain(needs);
  });

  it('is refused for an eval, another name, a file that is there, and code that differs', async () => {
    const runId = await start({ amount: 5 }, 'completed');
    const refused = async (...argv: string[]) => readError(await svc('replay', runId, '--json', '--promote', ...argv));
    expect(await refused('order.eval.ts')).toMatchObject({
      code: 'promote_refused',
      message: expect.stringContaining('kept in a box'),
    });
    expect((await refused('order.ts')).code).toBe('promote_refused');
    writeFileSync(join(root, 'there.test.ts'), '');
    onTestFinished(() => rmSync(join(root, 'there.test.ts')));
    expect((await refused('there.test.ts')).code).toBe('already_exists');
    edit('workflows/order.workflow.ts', 'await sleep(5);', '');
    expect((await refused('differs.test.ts')).code).toBe('promote_refused');
    expect(existsSync(join(root, 'differs.test.ts'))).toBe(false);
  });
});

/** The tests of the workspace, with the runtime as it is in this repository. */
/** On what was built, as a workspace has it. */
function runVitest() {
  writeFileSync(
    join(root, 'vitest.config.mjs'),
    `import { svcTesting } from '@svc/compiler';
export default {
  plugins: [svcTesting()],
  test: { include: ['tests/**/*.test.ts'], testTimeout: 30_000 },
};
`,
  );
  return execute(process.execPath, [join(REPOSITORY, 'node_modules/vitest/vitest.mjs'), 'run'], root);
}

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

function execute(command: string, args: string[], cwd: string): Promise<Ran> {
  const { PATH = '', HOME = '' } = process.env;
  return new Promise((resolve) => {
    execFile(command, args, { cwd, env: { PATH, HOME, NO_COLOR: '1' } }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}
