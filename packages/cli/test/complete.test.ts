import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../src/main.ts';
import { makeProject, noteDev, readError } from './_setup.ts';

const AGENTS = `declare module '@svc/runtime' {
  interface AgentRegister {
    "support": typeof a0.default;
    "triage": unknown;
  }
}
`;

async function complete(words: string[], cwd?: string): Promise<string[]> {
  const { stdout } = await runCli(['complete', '--', ...words], { cwd: cwd ?? (await makeProject()) });
  return stdout
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith(':'))
    .map((line) => line.split('\t')[0] ?? '');
}

async function makeNamedProject(): Promise<string> {
  const cwd = await makeProject();
  // Makes the folder.
  await noteDev(cwd, '');
  await writeFile(join(cwd, '.svc', 'agents.d.ts'), AGENTS);
  await writeFile(join(cwd, '.svc', 'workflows.d.ts'), AGENTS.replace('support', 'refund').replace('triage', 'greet'));
  return cwd;
}

describe('the script of a shell', () => {
  it.each([
    ['bash', ['-n']],
    ['zsh', ['-n']],
    ['fish', ['--no-execute']],
  ])('of %s is one the shell can read', async (shell, check) => {
    const { stdout, exitCode } = await runCli(['complete', shell]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('svc complete --');
    const read = spawnSync(shell, check, { input: stdout, encoding: 'utf8' });
    // A shell that is not installed here cannot say.
    expect(read.error ? '' : read.stderr).toBe('');
  });

  it('of another shell is refused', async () => {
    const error = readError(await runCli(['complete', 'tcsh', '--json']));
    expect(error).toMatchObject({
      message: 'There is no completion for "tcsh".',
      suggestion: expect.stringContaining('fish'),
    });
  });
});

describe('what may follow', () => {
  it.each([
    [['ru'], ['runs']],
    [['runs', 'li'], ['list']],
    [
      ['hitl', ''],
      ['approve', 'get', 'list', 'reject'],
    ],
    [['runs', 'list', '--sta'], ['--status']],
    [['runs', 'list', '--status', 'f'], ['failed']],
    [['complete', 'b'], ['bash']],
    [['frobnicate', ''], []],
  ])('%j', async (words, expected) => {
    expect((await complete(words)).filter(Boolean).sort()).toEqual(expected);
  });

  it('is any verb at the beginning', async () => {
    expect(await complete([''])).toEqual(expect.arrayContaining(['dev', 'runs', 'logs', 'secrets', 'complete']));
  });

  it('is an agent or a workflow of the workspace where one is named', async () => {
    const cwd = await makeNamedProject();
    expect(await complete(['workflows', 'start', ''], cwd)).toEqual(['refund', 'greet']);
    expect(await complete(['runs', 'list', '--name', ''], cwd)).toEqual(['support', 'triage', 'refund', 'greet']);
    expect(await complete(['keys', 'create', '--agents', 's'], cwd)).toEqual(['support']);
  });
});
