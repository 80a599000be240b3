import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { describeWhen } from '../../runtime/test/require.ts';
import type { Requirement } from '../../runtime/test/require.ts';
import { textWidth } from '../src/terminal/width.ts';
import { makeProject, startBox } from './_setup.ts';
import { findCode, startAccount } from './_plane.ts';
import { BIN, openLive, realTerminal } from './_terminal.ts';
import type { LiveOptions } from './_terminal.ts';

const BUILT = existsSync(fileURLToPath(new URL('../dist/main.mjs', import.meta.url)));
const builtOnTerminal: Requirement<true> = {
  value: BUILT && realTerminal.value ? true : undefined,
  missing: BUILT ? realTerminal.missing : 'a build',
};

const ASKS = /Value of TOKEN \(not shown\): /;
const ENTER = '\r';
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

/** `svc secrets set`, which asks for its value; the box keeps what arrives. */
async function askSecret(options: Partial<LiveOptions> = {}) {
  const box = await startBox({ 'PUT /api/secrets/TOKEN': { body: { name: 'TOKEN' } } });
  const argv = [process.execPath, BIN, 'secrets', 'set', 'TOKEN', '--url', box.url];
  const terminal = openLive(argv, { cwd: await makeProject(), ...options });
  await terminal.shows(ASKS);
  return { terminal, arrived: () => box.seen.map(({ body }) => (JSON.parse(body) as { value: string }).value) };
}

describeWhen(builtOnTerminal, 'a value that is asked for', () => {
  it.each([
    ['what is typed', `hunter2${ENTER}`, 'hunter2'],
    ['without what was taken back', `hunterx\u007F2é\u007F${ENTER}`, 'hunter2'],
    ['without a line that was cleared', `wrong\u0015hunter2${ENTER}`, 'hunter2'],
    ['without the arrows', `hun\u001B[D\u001B[1;5Cter2\u001BOA${ENTER}`, 'hunter2'],
    ['all lines of a paste', `-----BEGIN\rhunter2\r-----END${ENTER}`, '-----BEGIN\nhunter2\n-----END'],
    ['all lines of a marked paste', `\u001B[200~BEGIN\nhunter2\n\u001B[201~${ENTER}`, 'BEGIN\nhunter2\n'],
  ])('is %s, and shows nothing of it', async (_, keys, value) => {
    const { terminal, arrived } = await askSecret();
    terminal.type(keys);
    const { code, echoes } = await terminal.ended();
    // One line break at the end goes, as it does from a file.
    expect({ code, echoes, arrived: arrived() }).toEqual({
      code: 0,
      echoes: true,
      arrived: [value.replace(/\n$/, '')],
    });
    expect(terminal.raw()).not.toMatch(/hunter|BEGIN|wrong/);
    // Marks of a paste are for this question alone.
    expect(terminal.raw()).toMatch(/\[\?2004h[^]*\[\?2004l/);
  });

  it('is typed in the narrowest of terminals', async () => {
    const { terminal, arrived } = await askSecret({ columns: 20 });
    terminal.type(`${'hunter2'.repeat(20)}${ENTER}`);
    expect(await terminal.ended()).toMatchObject({ code: 0, echoes: true });
    expect(arrived()).toEqual(['hunter2'.repeat(20)]);
    expect(terminal.raw()).not.toContain('hunter');
  });

  it.each([
    ['Ctrl-C', `hun${CTRL_C}`],
    ['Ctrl-D', CTRL_D],
  ])('is left with %s: exit 130, nothing is sent, and the terminal echoes again', async (_, keys) => {
    const { terminal, arrived } = await askSecret();
    terminal.type(keys);
    expect(await terminal.ended()).toEqual({ code: 130, echoes: true, showsCursor: true });
    expect(arrived()).toEqual([]);
    expect(terminal.raw()).toMatch(/\n.*error:.* Interrupted before anything was done\./);
  });

  it('is not what stands before a Ctrl-D', async () => {
    const { terminal, arrived } = await askSecret();
    terminal.type(`hunter2${CTRL_D}${ENTER}`);
    expect([(await terminal.ended()).code, arrived()]).toEqual([0, ['hunter2']]);
  });

  it('leaves a terminal that echoes when the command is killed', async () => {
    const { terminal } = await askSecret();
    terminal.kill('SIGTERM');
    expect(await terminal.ended()).toMatchObject({ code: 130, echoes: true });
  });

  it('is asked without control codes where TERM is dumb', async () => {
    const { terminal, arrived } = await askSecret({ env: { TERM: 'dumb' } });
    terminal.type(`hunter2${ENTER}`);
    expect([(await terminal.ended()).code, arrived()]).toEqual([0, ['hunter2']]);
    expect(terminal.raw()).not.toContain('\u001B');
  });
});

const WAITS = 'Waiting for you';
const ESCAPE = '\u001B[';
const HIDE = `${ESCAPE}?25l`;

/** `svc login`, which waits for an approval that does not come. */
async function login(env: Record<string, string> = {}) {
  const account = await startAccount({ pollSeconds: 0.2 });
  return { ...account, argv: [process.execPath, BIN, 'login', '--no-browser'], env: { ...account.env, ...env } };
}

async function spin(options: { env?: Record<string, string>; columns?: number } = {}) {
  const { argv, env, decide } = await login(options.env);
  const terminal = openLive(argv, { cwd: env.HOME ?? '/', env, columns: options.columns ?? 80 });
  await terminal.shows(/Waiting f/);
  return { terminal, approve: () => decide(findCode(stripVTControlCharacters(terminal.raw())) ?? '') };
}

/** Each drawing of the spinner, as wide as it was shown. */
function listFrames(raw: string): string[] {
  const drawn = raw.split(`${ESCAPE}?2026h`).slice(1);
  return drawn.map((text) => text.split(`${ESCAPE}?2026l`)[0] ?? '').map((text) => stripVTControlCharacters(text));
}

describeWhen(builtOnTerminal, 'the spinner', () => {
  it.each([
    ['Ctrl-C', (terminal: ReturnType<typeof openLive>) => terminal.type(CTRL_C)],
    ['SIGTERM', (terminal: ReturnType<typeof openLive>) => terminal.kill('SIGTERM')],
    ['SIGHUP', (terminal: ReturnType<typeof openLive>) => terminal.kill('SIGHUP')],
  ])('is wiped out by %s, the cursor is back, exit 130', async (_, stop) => {
    const { terminal } = await spin();
    await expect.poll(() => listFrames(terminal.raw()).length, { timeout: 20_000 }).toBeGreaterThan(3);
    expect(terminal.raw()).toContain(HIDE);
    stop(terminal);
    expect(await terminal.ended()).toEqual({ code: 130, echoes: true, showsCursor: true });
    // Behind its last drawing the line is cleared before anything else is said.
    const behind = terminal.raw().split(`${ESCAPE}?2026l`).at(-1) ?? '';
    expect(behind).toMatch(/^(\^C)?.\[\?25h.\[1G.\[0K/);
  });

  it('ends with the wait it stands for', async () => {
    const { terminal, approve } = await spin();
    await approve();
    expect(await terminal.ended()).toEqual({ code: 0, echoes: true, showsCursor: true });
  });

  it('never takes more than one line, however narrow the terminal is or becomes', async () => {
    const { terminal } = await spin({ columns: 20 });
    await expect.poll(() => listFrames(terminal.raw()).length, { timeout: 20_000 }).toBeGreaterThan(3);
    expect(new Set(listFrames(terminal.raw()).map(textWidth))).toEqual(new Set([19]));
    terminal.resize(12);
    await expect.poll(() => textWidth(listFrames(terminal.raw()).at(-1) ?? ''), { timeout: 20_000 }).toBe(11);
    terminal.resize(60);
    await terminal.shows(/approve it there …/);
    terminal.type(CTRL_C);
    expect(await terminal.ended()).toMatchObject({ code: 130, showsCursor: true });
  });

  it.each([
    ['TERM=dumb', { TERM: 'dumb' }],
    ['CI=true', { CI: 'true', NO_COLOR: '1' }],
  ])('is one plain line with %s', async (_, env) => {
    const { terminal } = await spin({ env });
    terminal.type(CTRL_C);
    expect(await terminal.ended()).toMatchObject({ code: 130 });
    expect(terminal.raw().split(WAITS)).toHaveLength(2);
    expect(terminal.raw()).not.toContain('\u001B');
  });

  it('has no colour with NO_COLOR', async () => {
    const { terminal } = await spin({ env: { NO_COLOR: '1' } });
    terminal.type(CTRL_C);
    expect(await terminal.ended()).toMatchObject({ code: 130 });
    expect(terminal.raw()).not.toMatch(/\[[\d;]+m/);
  });
});

describeWhen({ value: BUILT || undefined, missing: 'a build' }, 'a pipe', () => {
  it('gets one plain line for what is waited for', async () => {
    const { argv, env, plane, decide } = await login();
    const polls = () => plane.seen.filter((line) => line === 'POST /oauth/token').length;
    let code = '';
    const running = run(argv.map((word) => `'${word}'`).join(' '), env, (text) => void (code ||= findCode(text) ?? ''));
    await expect.poll(polls, { timeout: 20_000 }).toBeGreaterThan(1);
    await decide(code);
    const { stdout, stderr } = await running;
    expect(stderr.split('\n').filter((line) => line.includes(WAITS))).toHaveLength(1);
    for (const sign of ['\u001B', '\r']) expect(stdout + stderr).not.toContain(sign);
  });

  it.each([
    ['stdout', ''],
    ['both', '2>&1'],
  ])('that is closed early is no failure: %s', async (_, joined) => {
    const items = Array.from({ length: 20_000 }, (__, at) => ({ id: `job-${at}`, name: 'x'.repeat(100) }));
    const box = await startBox({ 'GET /api/recurring-jobs': { body: { items, nextCursor: 'c1' } } });
    const command = `'${process.execPath}' '${BIN}' jobs list --url ${box.url} ${joined}`;
    const line = `{ { ${command}; echo "$?" >&3; } | head -1; } 3>&1`;
    const { stdout, stderr } = await run(line, { PATH: process.env.PATH ?? '' });
    expect(stdout.trimEnd().split('\n')).toEqual([expect.stringMatching(/^job-0\t/), '0']);
    expect(stderr.replace(/^There are more: .*\n$/, '')).toBe('');
  });
});

// --- internal ---

function run(
  line: string,
  env: Record<string, string>,
  onStderr: (text: string) => void = () => {},
): Promise<{ stdout: string; stderr: string }> {
  return new Promise((done) => {
    const child = execFile('sh', ['-c', line], { env: { PATH: process.env.PATH, ...env } }, (_, stdout, stderr) =>
      done({ stdout, stderr }),
    );
    child.stderr?.on('data', (text) => onStderr(String(text)));
  });
}
