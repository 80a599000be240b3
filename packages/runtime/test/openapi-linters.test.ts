import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { setupBoxes } from './_setup.ts';

const boxes = setupBoxes();
const RULES = fileURLToPath(new URL('./rules', import.meta.url));
const TIMEOUT_MS = 120_000;

/** `bin`: in the package. The arguments fail the run for warnings too. */
const LINTERS: [name: string, bin: string, args: string[]][] = [
  ['@redocly/cli', 'bin/cli.js', ['lint', '--config', join(RULES, 'redocly.yaml'), '--format', 'json']],
  [
    '@stoplight/spectral-cli',
    'dist/index.js',
    ['lint', '--ruleset', join(RULES, 'spectral.yaml'), '--fail-severity', 'hint', '--format', 'json', '--quiet'],
  ],
];

test.each(LINTERS)('%s finds nothing in the document', { timeout: TIMEOUT_MS }, async (name, bin, args) => {
  const { folder, file } = await writeDocument();
  const { exitCode, stdout } = await lint({ name, bin, args: [...args, file], cwd: folder });
  expect([exitCode, ...findingsOf(stdout)]).toEqual([0]);
});

test.each(LINTERS)('%s finds what is wrong with one', { timeout: TIMEOUT_MS }, async (name, bin, args) => {
  const { folder, file } = await writeDocument((text) =>
    text.replace('"operationId":"runs.get"', '"operationId":"runs.list"'),
  );
  const { exitCode, stdout } = await lint({ name, bin, args: [...args, file], cwd: folder });
  expect(exitCode).toBe(1);
  expect(findingsOf(stdout).join('\n')).toMatch(/unique/);
});

// --- internal ---

async function writeDocument(edit = (text: string) => text) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-openapi-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const answer = await (await boxes.open()).request('/api/openapi.json');
  const file = join(folder, 'openapi.json');
  await writeFile(file, edit(await answer.text()));
  return { folder, file };
}

interface Linting {
  name: string;
  bin: string;
  args: string[];
  cwd: string;
}

function lint({ name, bin, args, cwd }: Linting) {
  const main = join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), bin);
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  return new Promise<{ exitCode: number; stdout: string }>((resolve) => {
    execFile(process.execPath, [main, ...args], { cwd, env, maxBuffer: 1e8 }, (error, stdout) =>
      resolve({ exitCode: error ? Number(error.code) : 0, stdout }),
    );
  });
}

/** What was found, of either. */
function findingsOf(stdout: string): string[] {
  const start = stdout.search(/[[{]/);
  const found = JSON.parse(start < 0 ? '[]' : stdout.slice(start)) as { problems?: unknown[] } | unknown[];
  const problems = Array.isArray(found) ? found : (found.problems ?? []);
  return problems.map((problem) => {
    const { code, ruleId, message, path, location } = problem as Record<string, unknown>;
    return JSON.stringify({ rule: code ?? ruleId, message, place: path ?? location });
  });
}
