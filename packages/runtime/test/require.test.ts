import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeWhen } from './require.ts';

const SUITE = `
  import { describeWhen } from ${JSON.stringify(fileURLToPath(new URL('require.ts', import.meta.url)))};
  describeWhen({ value: undefined, missing: 'a moon (wait for night)' }, 'a tide', () => test('comes', () => {}));
`;

describeWhen({ value: 42, missing: 'nothing' }, 'a suite whose need is met', (value) => {
  test('runs and is handed the value', () => expect(value).toBe(42));
});

describe('a suite whose need is not met', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-require-'));
    await writeFile(join(folder, 'tide.test.ts'), SUITE);
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('is skipped under a title that says what is missing', async () => {
    const { code, output } = await runSuite({});
    expect(output).toContain('a tide [needs a moon (wait for night)]');
    expect({ code, skipped: output.includes('1 skipped') }).toEqual({ code: 0, skipped: true });
  });

  test('fails where nothing may be skipped', async () => {
    const { code, output } = await runSuite({ SVC_TEST_REQUIRE: '1' });
    expect(output).toContain('1 failed');
    expect(code).toBe(1);
  });

  function runSuite(environment: Record<string, string>): Promise<{ code: number; output: string }> {
    const vitest = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url));
    const args = [vitest, 'run', '--root', folder, '--globals', '--reporter=verbose'];
    const env = { ...process.env, SVC_TEST_REQUIRE: '', NO_COLOR: '1', ...environment };
    return new Promise((resolve) => {
      execFile(process.execPath, args, { cwd: folder, env }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
      );
    });
  }
});
