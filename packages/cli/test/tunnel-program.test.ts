import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { runProgram } from '../src/dev/tunnel/program.ts';

/** A relay program that writes what it is given into a file, a line a start, and then does what `body` says. */
function makeProgram(body: string) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-relay-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const bin = join(folder, 'relay');
  const file = join(folder, 'starts');
  writeFileSync(file, '');
  const script = `#!${process.execPath}
require('node:fs').appendFileSync(${JSON.stringify(file)}, JSON.stringify({ pid: process.pid, env: process.env }) + '\\n');
${body}
`;
  writeFileSync(bin, script);
  chmodSync(bin, 0o755);
  const starts = () =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { pid: number; env: Record<string, string> });
  return { bin, starts };
}

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const start = async (bin: string, said: string[] = []) =>
  runProgram({
    bin,
    env: { PATH: process.env.PATH, HOME: '/home/ada', MODEL_PROVIDER_API_KEY: 'secret' },
    relayUrl: 'wss://studio.example.com/api/v1/tunnel',
    token: 'the-token',
    port: 4321,
    say: (line) => void said.push(line),
    backOff: () => 10,
  });

it('another relay program is given the relay, the token and the port, and no secret of ours; it ends with dev', async () => {
  const { bin, starts } = makeProgram('setInterval(() => {}, 1000);');
  const end = await start(bin);
  await vi.waitUntil(() => starts().length === 1, { timeout: 5_000 });
  const [{ pid = 0, env = {} } = {}] = starts();
  expect(env).toMatchObject({
    SVC_TUNNEL_RELAY: 'wss://studio.example.com/api/v1/tunnel',
    SVC_TUNNEL_TOKEN: 'the-token',
    SVC_TUNNEL_LOCAL_PORT: '4321',
    HOME: '/home/ada',
  });
  expect(Object.keys(env)).not.toContain('MODEL_PROVIDER_API_KEY');
  await end();
  expect(isRunning(pid)).toBe(false);
});

it('one that takes no notice of the end is ended all the same', async () => {
  const { bin, starts } = makeProgram("process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);");
  const end = await start(bin);
  await vi.waitUntil(() => starts().length === 1, { timeout: 5_000 });
  await end();
  expect(isRunning(starts()[0]?.pid ?? 0)).toBe(false);
});

it('one that ends is started again, which is said once', async () => {
  const { bin, starts } = makeProgram('process.exit(3);');
  const said: string[] = [];
  const end = await start(bin, said);
  await vi.waitUntil(() => starts().length >= 3, { timeout: 10_000 });
  await end();
  const count = starts().length;
  expect(said).toEqual([`The relay program "${bin}" has ended. It is started again.`]);
  expect(starts().length).toBe(count);
});

it('one that is not there is no tunnel', async () => {
  await expect(start('/nowhere/relay')).rejects.toThrow('ENOENT');
});
