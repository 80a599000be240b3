import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runProgram } from '../src/dev/tunnel/program.ts';

/** Says what it was started with; ends the first time, and never after. */
const PROGRAM = `#!${process.execPath}
const fs = require('node:fs');
const seen = __filename + '.seen';
const isFirst = !fs.existsSync(seen);
fs.appendFileSync(seen, JSON.stringify({ pid: process.pid, env: process.env }) + '\\n');
if (!isFirst) setInterval(() => {}, 60_000);
`;

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-relay-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const RELAY = { relayUrl: 'ws://studio.example.com/api/v1/tunnel', token: 'a.b', port: 4711, backOff: () => 1 };

test('another relay program gets the relay, the token and the port and no secret, runs again when it ends, and ends with the box', async () => {
  const bin = join(makeFolder(), 'relay.cjs');
  writeFileSync(bin, PROGRAM, { mode: 0o755 });
  const needed = { PATH: process.env.PATH ?? '', HOME: '/home/ada', HTTPS_PROXY: 'http://proxy.example.com' };
  const env = { ...needed, OPENAI_API_KEY: 'sk-secret', SVC_SECRET_KEY: 'secret', HMAC_SECRET: 'secret' };
  const said: string[] = [];
  const end = await runProgram({ ...RELAY, bin, env, say: (line) => void said.push(line) });
  onTestFinished(() => end());
  const readSeen = (): { pid: number; env: Record<string, string> }[] =>
    readFileSync(`${bin}.seen`, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  await expect.poll(() => readSeen().length, { timeout: 30_000 }).toBe(2);
  for (const one of readSeen())
    expect(one.env).toMatchObject({
      ...needed,
      SVC_TUNNEL_RELAY: RELAY.relayUrl,
      SVC_TUNNEL_TOKEN: RELAY.token,
      SVC_TUNNEL_LOCAL_PORT: '4711',
    });
  expect(readFileSync(`${bin}.seen`, 'utf8')).not.toContain('secret');
  expect(said).toEqual([`The relay program "${bin}" has ended. It is started again.`]);
  const { pid = 0 } = readSeen()[1] ?? {};
  await end();
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

test('a relay program there is not is an error that names it', async () => {
  const bin = join(makeFolder(), 'none');
  await expect(runProgram({ ...RELAY, bin, env: {}, say: () => {} })).rejects.toThrow(`spawn ${bin} ENOENT`);
});
