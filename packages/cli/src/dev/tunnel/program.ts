import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { backOffMs } from './keep.ts';

export interface ProgramOptions {
  /** SVC_FRPC_BIN. */
  bin: string;
  env: NodeJS.ProcessEnv;
  relayUrl: string;
  token: string;
  port: number;
  say(line: string): void;
  backOff?(tries: number): number;
}

/** Runs another relay program, again whenever it ends. Answers how to end it. Rejects where it cannot be started. */
export async function runProgram(options: ProgramOptions): Promise<() => Promise<void>> {
  const { bin, say, backOff = backOffMs } = options;
  const ended = new AbortController();
  const { signal } = ended;
  let child = await start(options);
  const keep = async (): Promise<void> => {
    for (let tries = 0; ;) {
      const begun = performance.now();
      await hasEnded(child);
      if (signal.aborted) return;
      // One that has run for a while starts over.
      if (performance.now() - begun > STEADY_MS) tries = 0;
      if (tries === 0) say(`The relay program "${bin}" has ended. It is started again.`);
      await sleep(backOff(tries++), undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      child = await start(options).catch(() => child);
    }
  };
  const keeping = keep();
  return async () => {
    ended.abort();
    child.kill();
    const cut = setTimeout(() => child.kill('SIGKILL'), KILL_MS);
    await hasEnded(child);
    clearTimeout(cut);
    await keeping;
  };
}

// --- internal ---

const STEADY_MS = 60_000;
const KILL_MS = 2_000;

/** Of the environment, what any program needs: no key of a model provider is for it. */
const PASSED = /^(?:PATH|HOME|TMPDIR|LANG|LC_\w+|(?:https?|no|all)_proxy|SSL_CERT_\w+|NODE_EXTRA_CA_CERTS)$/i;

function start({ bin, env, relayUrl, token, port }: ProgramOptions): Promise<ChildProcess> {
  const passed = Object.fromEntries(Object.entries(env).filter(([name]) => PASSED.test(name)));
  const child = spawn(bin, [], {
    env: {
      ...passed,
      SVC_TUNNEL_RELAY: relayUrl,
      SVC_TUNNEL_TOKEN: token,
      SVC_TUNNEL_LOCAL_PORT: String(port),
    },
    // What it prints is talk: stdout is the payload's.
    stdio: ['ignore', 2, 2],
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => resolve(child));
  });
}

function hasEnded(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}
