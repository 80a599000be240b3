import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Summary } from '../../../scripts/_suite.mjs';

const scriptOf = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/** Fails as often as a file beside it is absent, which it makes. */
const LATE = `
  import { existsSync, writeFileSync } from 'node:fs';
  const once = new URL('seen-' + process.env.CI_ATTEMPT_OF, import.meta.url);
`;
const SUITES = {
  'hook.test.ts': `${LATE}
    beforeAll(() => { if (!existsSync(once)) { writeFileSync(once, ''); throw new Error('the hook was late'); } });
    test('after the hook', () => {});
  `,
  'good.test.ts': `test('holds', () => {});`,
};

describe('what fails under CI', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-run-again-'));
    for (const [name, text] of Object.entries(SUITES)) await writeFile(join(folder, name), text);
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('is run again by itself, and what passes then is listed', async () => {
    const { ok, passed, failures, retried } = await run('late', { CI: 'true' });
    expect({ ok, passed, failures }).toEqual({ ok: true, passed: 2, failures: [] });
    expect(retried).toEqual([expect.stringContaining('hook.test.ts: ')]);
  });

  test('is not run again at a desk, and ends the report with its message and a count', async () => {
    const { ok, failures, retried } = await run('desk', { CI: '' });
    expect({ ok, retried }).toEqual({ ok: false, retried: [] });
    expect(failures).toEqual([expect.objectContaining({ file: expect.stringContaining('hook.test.ts') })]);

    const report = [scriptOf('.ci/report.mjs'), `suite=${join(folder, 'desk.json')}`, 'long=absent'];
    const { stdout, code } = await start(report);
    expect(code).toBe(0);
    expect(stdout).toContain('FAILED in suite: ');
    expect(stdout).toContain('FAILED in long: long\n  ended before its tests were counted');
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('1 passed, 2 failed, 1 skipped');
  });

  async function run(name: string, env: Record<string, string>): Promise<Summary & { ok: boolean }> {
    const file = join(folder, `${name}.json`);
    const script = `
      const { runSuite } = await import(${JSON.stringify(scriptOf('scripts/_suite.mjs'))});
      const { writeFileSync } = await import('node:fs');
      const summary = await runSuite(['--root', ${JSON.stringify(folder)}, '--globals']);
      writeFileSync(${JSON.stringify(file)}, JSON.stringify(summary));
    `;
    await start(['--input-type=module', '-e', script], { CI_ATTEMPT_OF: name, ...env });
    return JSON.parse(await readFile(file, 'utf8')) as Summary & { ok: boolean };
  }

  function start(args: string[], env: Record<string, string> = {}): Promise<{ stdout: string; code: number }> {
    return new Promise((resolve) => {
      execFile(process.execPath, args, { cwd: folder, env: { ...process.env, ...env } }, (error, stdout) =>
        resolve({ stdout, code: error ? Number(error.code) : 0 }),
      );
    });
  }
});
