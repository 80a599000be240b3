import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { describeWhen } from './require.ts';

const HOST = fileURLToPath(new URL('../dist/host.mjs', import.meta.url));
const built = { value: existsSync(HOST) ? HOST : undefined, missing: 'a build of the runtime' };

/** What a process for suspects begins with, and something that would keep it alive. */
const CHILD = `
  const { superviseProcess } = await import(process.argv[2]);
  superviseProcess();
  setInterval(() => {}, 1000);
`;

describeWhen(built, 'a process for suspects', (host) => {
  test('ends by itself when the one that began it is gone before it has loaded', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-isolation-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'child.mjs'), CHILD);
    const child = spawn(process.execPath, [join(folder, 'child.mjs'), host], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    child.disconnect();
    const [code] = (await once(child, 'exit')) as [number | null];
    expect(code).toBe(1);
  });
});
