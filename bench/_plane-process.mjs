// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { round } from './_stats.mjs';

const BIN = fileURLToPath(new URL('../packages/control-plane/bin.mjs', import.meta.url));

/**
 * A control plane as it is built, in a process of its own, once it listens.
 * @param {Record<string, string>} env
 */
export async function startPlane(env) {
  const child = spawn(process.execPath, [BIN], {
    env: { ...process.env, ...env, HOST: '127.0.0.1', PORT: '0', SVC_LOG_LEVEL: 'error' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  const lines = [];
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line);
    const [, url] = /answers on \S+ as (\S+)/.exec(line) ?? [];
    if (url === undefined) continue;
    child.stderr.resume();
    return {
      url,
      readMib: () =>
        round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1_024),
      /** Of the processor, in user mode and in the kernel. */
      readCpuMs() {
        // After the name, which may hold anything: user time is the 12th, that of the kernel the 13th; a tick is 10 ms.
        const times = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
        return 10 * (Number(times[11]) + Number(times[12]));
      },
      async stop() {
        child.kill('SIGTERM');
        await ended;
      },
    };
  }
  throw new Error(`The control plane did not start: ${lines.join('\n')}`);
}
