import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { RunRow } from '../src/engine/journal/run.ts';
import { decode } from '../src/engine/serialize.ts';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { openPostgresJournal } from '../src/engine/stores/postgres/journal.ts';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import { openPg } from '../src/stores/pg.ts';
import { describeWhen, realServers } from './require.ts';

const WORKER = fileURLToPath(new URL('fixtures/poison-worker.mjs', import.meta.url));

test('a step that kills its process ends its run, once it has done so five times alone; the runs beside it complete', async () => {
  const path = makePlace();
  const lives = [await live(path, ['long', 'long', 'long', 'kill']), await live(path)];
  expect(lives.map(({ signal }) => signal)).toEqual(['SIGKILL', 'SIGKILL']);
  // From the third on it kills processes of its own.
  const last = await live(path);
  expect(last).toMatchObject({ code: 0, signal: null });
  expect(lives.flatMap(({ lines }) => lines.filter((line) => line === 'kill here'))).toHaveLength(2);
  expect(last.lines.filter((line) => line === 'kill here')).toEqual([]);
  expect(last.lines.filter((line) => line === 'kill apart').length).toBeGreaterThanOrEqual(5);

  const runs = await readRuns(path);
  const poisoned = runs.find(({ name }) => name === 'kill');
  expect(poisoned).toMatchObject({ status: 'failed', crashCount: 5, seq: 0, owner: null });
  const error = decode(poisoned?.error ?? '') as Error;
  expect(error).toMatchObject({ code: 'run_poisoned' });
  expect(error.message).toBe(
    'A process that had this run alone died 5 times while it ran the step "workflows/poison.workflow.ts#kill". ' +
      'Correct the code, then retry the run.',
  );
  const others = runs.filter(({ name }) => name === 'long');
  expect(others.map(({ status, crashCount }) => [status, crashCount])).toEqual(
    Array.from({ length: 3 }, () => ['completed', 0]),
  );
}, 120_000);

test('kills from outside convict no run, and all go on at once after each', async () => {
  const path = makePlace();
  const names = Array.from({ length: IN_FLIGHT }, () => 'long');
  for (let round = 0; round < 6; round += 1) {
    const { process: child, lines, over } = begin(path, round === 0 ? names : [], NO_END);
    // Each of them has begun: no run waits for another.
    await expect.poll(() => new Set(lines).size, { timeout: 60_000 }).toBe(IN_FLIGHT);
    expect(lines).toHaveLength(IN_FLIGHT);
    child.kill('SIGKILL');
    await over;
  }
  expect(await live(path)).toMatchObject({ code: 0 });
  const runs = await readRuns(path);
  expect(new Set(runs.map(({ status }) => status))).toEqual(new Set(['completed']));
  expect(runs).toHaveLength(IN_FLIGHT);
}, 120_000);

test('a step that hangs, or holds its event loop, holds up no other suspect, and can be cancelled', async () => {
  const path = makePlace();
  const names = ['hang', 'spin', 'long', 'long', 'hang'];
  for (const given of [names, []]) {
    const { process: child, lines, over } = begin(path, given);
    await expect.poll(() => lines.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(5);
    child.kill('SIGKILL');
    await over;
  }
  const last = await live(path);
  expect(last).toMatchObject({ code: 0 });
  const runs = await readRuns(path);
  const endOf = (name: string) => new Set(runs.filter((run) => run.name === name).map(({ status }) => status));
  expect([endOf('long'), endOf('hang'), endOf('spin')]).toEqual([
    new Set(['completed']),
    new Set(['cancelled']),
    new Set(['cancelled']),
  ]);
}, 120_000);

describeWhen(realServers.database, 'on a server, beside replicas that are well', (server) => {
  const open = async (): Promise<{ url: string; read(): Promise<RunRow[]> }> => {
    const { url, drop } = await createDatabase(server);
    const sql = openPg(url);
    const journal = await openPostgresJournal({ sql });
    onTestFinished(async () => {
      await journal.close();
      await sql.close();
      await drop();
    });
    return { url, read: () => journal.listRuns({}, { limit: 200 }) };
  };

  test('a step that kills its process takes two of them along; then it is convicted, and the runs beside it complete', async () => {
    const { url, read } = await open();
    const first = begin(url, ['long', 'long', 'long', 'later']);
    await expect.poll(() => first.lines.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(4);
    const second = begin(url);
    await Promise.all([first.over, second.over]);
    const [third, fourth] = [begin(url, ['beside']), begin(url)];
    await Promise.all([third.over, fourth.over]);
    const signals = [first, second, third, fourth].map(({ process: child }) => child.signalCode);
    expect(signals).toEqual(['SIGKILL', 'SIGKILL', null, null]);

    const later = [...third.lines, ...fourth.lines];
    expect(later.filter((line) => line === 'kill here')).toEqual([]);
    expect(later.filter((line) => line === 'kill apart').length).toBeGreaterThanOrEqual(5);
    // Its suspects are divided twice until it is alone; what no one suspects repeats nothing.
    expect(later.filter((line) => line.startsWith('pause beside'))).toEqual(['pause beside here', 'pause beside here']);
    for (const index of [0, 1, 2])
      expect(later.filter((line) => line.startsWith(`pause ${index} `)).length).toBeLessThanOrEqual(4);
    const runs = await read();
    const poisoned = runs.find(({ name }) => name === 'later') as RunRow;
    expect(poisoned).toMatchObject({ status: 'failed', crashCount: 5, seq: 1, owner: null });
    expect(decode(poisoned.error ?? '')).toMatchObject({ code: 'run_poisoned' });
    const others = runs.filter(({ name }) => name !== 'later');
    expect(others.map(({ status, crashCount }) => [status, crashCount])).toEqual(
      Array.from({ length: 4 }, () => ['completed', 0]),
    );
  }, 120_000);

  test('what a replica has in flight when it is killed is all under way in another, each step once', async () => {
    const { url, read } = await open();
    const names = Array.from({ length: IN_FLIGHT }, () => 'long');
    const replicas = [begin(url, names, NO_END)];
    for (const round of [0, 1]) {
      const { process: child, lines, over } = replicas[round] as Begun;
      await expect.poll(() => new Set(lines).size, { timeout: 60_000 }).toBe(IN_FLIGHT);
      expect(lines).toHaveLength(IN_FLIGHT);
      // It is there before the other dies, and has nothing to do.
      replicas.push(begin(url, [], NO_END));
      child.kill('SIGKILL');
      await over;
    }
    const runs = await read();
    expect(runs.map(({ status, crashCount }) => [status, crashCount])).toEqual(names.map(() => ['running', 0]));
  }, 120_000);
});

// --- internal ---

/** So many runs in flight at a crash are all under way again within the recovery time: none waits for another to end. */
const IN_FLIGHT = 100;

/** Their steps go on for as long as a test does. */
const NO_END = { PAUSE_MS: '600000' };

interface Begun {
  process: ChildProcess;
  lines: string[];
  over: Promise<unknown>;
}

interface Life {
  code: number | null;
  signal: NodeJS.Signals | null;
  lines: string[];
}

function makePlace(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-poison-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'journal.db');
}

/** One process of the box over a file or a server, and what it and those it begins say. */
function begin(place: string, names: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Begun {
  const child = spawn(process.execPath, [WORKER, place, ...names], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return { process: child, lines, over: once(child, 'close') };
}

/** One process, until it dies or has nothing left to do. */
async function live(place: string, names: readonly string[] = []): Promise<Life> {
  const { process: child, lines, over } = begin(place, names);
  await over;
  return { code: child.exitCode, signal: child.signalCode, lines };
}

async function readRuns(path: string): Promise<RunRow[]> {
  const journal = await openSqliteJournal({ path });
  onTestFinished(() => journal.close());
  return journal.listRuns({}, { limit: 200 });
}
