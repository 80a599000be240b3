import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { onTestFinished } from 'vitest';

import { BUCKET, KEYS, newFolder } from './_setup.ts';

const REPO = fileURLToPath(new URL('../../../', import.meta.url));

/** A process of its own, which says what it has to say a line at a time. It is gone when the test ends. */
export interface Child {
  readLine(): Promise<string>;
  /** The most memory that it has had until now, in bytes. Not while a line is waited for. */
  readPeakRss(): Promise<number>;
  /** A line to its standard input. One that is empty asks for its memory. */
  say(line: string): void;
  kill(): Promise<void>;
}

/** A server over the folder. */
export async function spawnServer(dir: string): Promise<Child & { url: string }> {
  const options = JSON.stringify({ dir, port: 0, ...KEYS, buckets: [BUCKET] });
  const child = await spawnModule(
    fileURLToPath(new URL('server.ts', import.meta.url)),
    `console.log((await module.startObjectServer(${options})).url);`,
  );
  return { ...child, url: await child.readLine() };
}

/** @param script of a module, in which `module` is what the source file exports */
export async function spawnModule(entry: string, script: string): Promise<Child> {
  const outDir = join(await newFolder(), 'built');
  await mkdir(outDir);
  const { build } = await import('vite');
  await build({ root: REPO, configFile: false, logLevel: 'silent', build: { ssr: entry, outDir, emptyOutDir: false } });
  const built = join(outDir, basename(entry).replace(/ts$/, 'js'));
  const text = `
    import * as module from ${JSON.stringify(built)};
    process.stdin.on('data', (line) => String(line) === '\\n' && console.log(process.resourceUsage().maxRSS * 1024));
    ${script}
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], {
    cwd: REPO,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  onTestFinished(kill);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const readLine = async () => String((await lines.next()).value);
  const say = (line: string): void => void child.stdin.write(`${line}\n`);
  const readPeakRss = () => {
    say('');
    return readLine().then(Number);
  };
  return { readLine, readPeakRss, say, kill };
}
