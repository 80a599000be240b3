import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { findSqlite } from '../../runtime/src/engine/stores/sqlite/driver.ts';
import type { Requirement } from '../../runtime/test/require.ts';
import type { Answer, Loose } from './_people.ts';
import { makeFolder, SECRET_KEY } from './_setup.ts';

const PATHS = { bin: '../bin.mjs', dieAtWrite: './_die-at-write.mjs' };

/** A control plane in a process of its own, as it is deployed, which dies at a write when it is told to. */
export class Victim {
  url = '';
  readonly #env: Record<string, string>;
  readonly #arm = join(makeFolder(), 'arm');
  #child: ChildProcess | undefined;

  constructor(env: Record<string, string>) {
    this.#env = env;
    onTestFinished(async () => {
      if (this.#child?.exitCode !== null || this.#child.signalCode !== null) return;
      this.#child.kill('SIGKILL');
      await once(this.#child, 'exit');
    });
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, toProgram(), {
      env: { ...process.env, ...this.#env, HOST: '127.0.0.1', PORT: '0', ...toEnv(this.#arm) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    const said: string[] = [];
    for await (const line of createInterface({ input: child.stderr })) {
      said.push(line);
      const [, url] = /answers on \S+ as (\S+)/.exec(line) ?? [];
      if (!url) continue;
      this.url = url;
      child.stderr.resume();
      return;
    }
    throw new Error(`The control plane did not start: ${said.join('\n')}`);
  }

  /** Does `work` while it dies at the first write, then at the second …, until it does not. Answers how often it died. */
  async dieAtEach(work: () => Promise<Answer<Loose>>, check: () => Promise<void>): Promise<number> {
    for (let write = 1; ; write++) {
      writeFileSync(this.#arm, String(write));
      const answer = await work().catch(() => undefined);
      writeFileSync(this.#arm, '0');
      if (answer && answer.status >= 300) throw new Error(JSON.stringify(answer.body));
      if (answer) return write - 1;
      if (this.#child?.signalCode === null) await once(this.#child, 'exit');
      await this.start();
      await check();
    }
  }
}

/**
 * Runs a command of `svc-control-plane` that dies at its first write, then at another `step` writes later …, until it does not.
 * Answers how often it died.
 */
export async function dieAtEachWrite(
  env: Record<string, string>,
  args: string[],
  check: () => Promise<void>,
  step = 1,
): Promise<number> {
  const arm = join(makeFolder(), 'arm');
  for (let deaths = 0; ; deaths++) {
    writeFileSync(arm, String(1 + deaths * step));
    const child = spawn(process.execPath, [...toProgram(), ...args], {
      env: { ...process.env, ...env, ...toEnv(arm) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (part) => (said += String(part)));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code === 0) return deaths;
    if (code !== null) throw new Error(said);
    await check();
  }
}

/** The driver whose statements can be counted, the others being as synchronous, and what is built. */
export async function canDie(): Promise<Requirement<true>> {
  const { opener } = await findSqlite('better-sqlite3');
  const isBuilt = existsSync(toUrl('../dist/index.mjs'));
  const missing = opener
    ? 'packages/control-plane/dist (run node scripts/build.mjs)'
    : 'better-sqlite3 (run pnpm install)';
  return { value: opener && isBuilt ? true : undefined, missing };
}

// --- internal ---

function toProgram(): string[] {
  return ['--import', toUrl(PATHS.dieAtWrite).href, fileURLToPath(toUrl(PATHS.bin))];
}

function toEnv(arm: string): Record<string, string> {
  return {
    PLANE_SECRET_KEY: SECRET_KEY,
    SVC_TEST_ARM: arm,
    SVC_SQLITE_DRIVER: 'better-sqlite3',
    SVC_LOG_LEVEL: 'error',
  };
}

function toUrl(path: string): URL {
  return new URL(path, import.meta.url);
}
