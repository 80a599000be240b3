import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { DevOptions, DevServer } from '../src/dev/start.ts';
import { CliError } from '../src/errors.ts';
import { runCli } from './_run.ts';
import { readDocument, readError } from './_setup.ts';

const startDev = vi.hoisted(() => vi.fn<(options: DevOptions) => Promise<DevServer>>());
vi.mock('../src/dev/start.ts', () => ({ startDev }));

/** A workspace, and one in it. */
const WORK = mkdtempSync(join(tmpdir(), 'svc-dev-'));
mkdirSync(join(WORK, 'playground'));
for (const folder of ['.', 'playground']) writeFileSync(join(WORK, folder, 'svc.json'), '{}\n');
afterAll(() => rmSync(WORK, { recursive: true }));

function deferred<T>() {
  const control: { resolve?: (value: T) => void } = {};
  const promise = new Promise<T>((done) => (control.resolve = done));
  return { promise, resolve: (value: T) => control.resolve?.(value) };
}

const PAYLOAD: DevServer['payload'] = {
  emulator_url: 'http://127.0.0.1:4242',
  agent_url: 'http://127.0.0.1:4242',
  public_url: null,
  deeplink: null,
  local_dev_installation_id: 'dev-1',
  gate: { open: false, reason: 'no-model-provider' },
  deep_agents: [],
  services: { postgres_url: 'postgres://127.0.0.1/svc', s3_endpoint: 'http://127.0.0.1:9000', s3_bucket: 'svc' },
};

/** A server that runs until it is closed, then ends with `exitCode`. */
function createServer(exitCode: number): DevServer {
  const { promise: closed, resolve } = deferred<number>();
  return {
    payload: PAYLOAD,
    banner: ['ready', 'on 4242'],
    closed,
    close: async () => resolve(exitCode),
  };
}

beforeEach(() => {
  startDev.mockReset();
});

describe('svc dev', () => {
  it.each(['abc', '0', '65536', '-1', '80.5', '0x50', '', ' 80'])('refuses the port "%s"', async (port) => {
    const result = await runCli(['dev', '--port', port, '--json']);
    expect(result.exitCode).toBe(1);
    expect(readError(result)).toMatchObject({
      code: 'generic',
      message: `The port "${port}" is not a whole number from 1 to 65535.`,
    });
    expect(startDev).not.toHaveBeenCalled();
  });

  it.each<[string[], Partial<DevOptions>]>([
    [[], { listen: false, json: false, verbose: false }],
    [['--port', '65535'], { port: 65_535 }],
    [['--listen', '--verbose', '--json'], { listen: true, verbose: true, json: true }],
    [['--auto-migrate'], { autoMigrate: true }],
    [['--no-auto-migrate'], { autoMigrate: false }],
    [['playground'], { root: join(WORK, 'playground') }],
  ])('%j becomes %j', async (flags, options) => {
    const server = createServer(0);
    startDev.mockImplementation(async () => server);
    await runCli(['dev', ...flags], { cwd: WORK, signal: AbortSignal.abort() });
    const given = startDev.mock.calls[0]?.[0];
    expect(given).toMatchObject({ root: WORK, ...options });
  });

  it('leaves port and autoMigrate to the server when no flag names them', async () => {
    const server = createServer(0);
    startDev.mockImplementation(async () => server);
    await runCli(['dev'], { cwd: WORK, signal: AbortSignal.abort() });
    expect(Object.keys(startDev.mock.calls[0]?.[0] ?? {}).sort()).toEqual(['json', 'listen', 'root', 'verbose']);
  });

  it('prints the payload when ready, stays, and ends with the exit code of the server on Ctrl-C', async () => {
    startDev.mockImplementation(async () => createServer(0));
    for (const flags of [['--json'], []]) {
      const control = new AbortController();
      const written: string[] = [];
      const onStdout = (text: string) => {
        written.push(text);
        control.abort();
      };
      const result = await runCli(['dev', ...flags], { cwd: WORK, signal: control.signal, onStdout });
      expect(result.exitCode).toBe(0);
      expect(written).toEqual([
        flags.length > 0 ? `${JSON.stringify({ schema_version: 1, ...PAYLOAD })}\n` : 'ready\non 4242\n',
      ]);
    }
  });

  it('keeps the code, suggestion and exit code of a boot that failed', async () => {
    const suggestion = 'Stop the other process, or run svc dev --port 4243.';
    const thrown = Object.assign(new Error('Port 4242 is in use.'), {
      code: 'journal_unavailable',
      suggestion,
      exitCode: 3,
    });
    startDev.mockImplementation(async () => {
      throw thrown;
    });
    const result = await runCli(['dev', '--json'], { cwd: WORK });
    expect(result.exitCode).toBe(3);
    expect(readError(result)).toEqual({
      code: 'journal_unavailable',
      message: 'Port 4242 is in use.',
      suggestion,
      details: {},
    });
  });

  it('reports a system error as generic', async () => {
    startDev.mockImplementation(async () => {
      throw Object.assign(new Error('disk is full'), { code: 'ENOSPC' });
    });
    expect(readError(await runCli(['dev', '--json'], { cwd: WORK }))).toMatchObject({
      code: 'generic',
      message: 'disk is full',
    });
  });

  it('prints no second document when the server fails after it was ready', async () => {
    const server: DevServer = {
      ...createServer(0),
      closed: Promise.reject(new CliError('generic', 'The listener died.')),
    };
    startDev.mockImplementation(async () => server);
    const result = await runCli(['dev', '--json'], { cwd: WORK });
    expect(readDocument(result)).toMatchObject({ agent_url: 'http://127.0.0.1:4242' });
    expect(result).toMatchObject({ exitCode: 1, stderr: 'The listener died.\n' });
  });

  it('ends with a failure when the server cannot be stopped', async () => {
    const close = vi.fn<() => Promise<void>>().mockRejectedValue(new CliError('generic', 'The store did not close.'));
    startDev.mockImplementation(async () => ({ ...createServer(0), close }));
    const result = await runCli(['dev'], { cwd: WORK, signal: AbortSignal.abort() });
    expect(result.exitCode).toBe(1);
    expect(result.stderr).toContain('The store did not close.');
  });

  it('--print-contract prints the contract and boots nothing', async () => {
    const contract = {
      version: 15,
      minSupported: 1,
      capabilities: expect.any(Array),
      build: { name: expect.any(String), version: expect.any(String) },
    };
    expect(readDocument(await runCli(['dev', '--print-contract', '--json']))).toEqual({
      schema_version: 1,
      ...contract,
    });
    expect(JSON.parse((await runCli(['dev', '--print-contract'])).stdout)).toEqual(contract);
    expect(startDev).not.toHaveBeenCalled();
  });
});
