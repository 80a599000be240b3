import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from './_run.ts';
import { makeProject, noteDev, readDocument, readError } from './_setup.ts';

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
  it.each(['bash', 'zsh', 'fish'])('of %s is printed as it is, and as a member of --json', async (shell) => {
    const { stdout, exitCode } = await runCli(['complete', shell]);
    expect({ exitCode, first: stdout.split('\n', 2).join(' ') }).toEqual({
      exitCode: 0,
      first: expect.stringContaining(`for ${shell}`),
    });
    const document = readDocument(await runCli(['complete', shell, '--json']));
    expect(document).toEqual({ schema_version: 1, shell, script: stdout });
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
    [
      ['help', 'hitl', ''],
      ['approve', 'get', 'list', 'reject'],
    ],
    [['--json', 'runs', 'list', '--status', 'f'], ['failed']],
    [['runs', 'list', '--status=f'], ['--status=failed']],
    [
      ['init', '--no-'],
      ['--no-color', '--no-install'],
    ],
    [['runs', 'list', '--', '--sta'], []],
    [['runs', 'cancel', 'x', '--yes', '--ye'], []],
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
