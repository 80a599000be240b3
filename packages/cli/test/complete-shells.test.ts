import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { describeWhen } from '../../runtime/test/require.ts';
import type { Requirement } from '../../runtime/test/require.ts';
import { makeProject } from './_setup.ts';
import { BIN, openLive, realTerminal } from './_terminal.ts';

const BUILT = existsSync(fileURLToPath(new URL('../dist/quick.mjs', import.meta.url)));
const ODD = `it's "$(touch pwned)" \\é; b`;

/** The shell itself, the built command line, and a terminal. */
function needs(shell: string): Requirement<true> {
  const isThere = spawnSync(shell, ['--version']).status === 0;
  const missing = [
    ...(isThere ? [] : [`${shell} (run .ci/services.sh)`]),
    ...(BUILT ? [] : ['a build']),
    ...(realTerminal.value ? [] : [realTerminal.missing]),
  ];
  return { value: missing.length === 0 ? true : undefined, missing: missing.join(', ') };
}

function register(...names: string[]): string {
  return names.map((name) => `    ${JSON.stringify(name)}: unknown;\n`).join('');
}

interface Desk {
  cwd: string;
  env: Record<string, string>;
}

/** A workspace with names, files and folders, and `svc` on the path. */
async function makeDesk(): Promise<Desk> {
  const cwd = await makeProject();
  for (const folder of ['.svc', 'bin', 'some folder']) mkdirSync(join(cwd, folder));
  symlinkSync(BIN, join(cwd, 'bin/svc'));
  writeFileSync(join(cwd, 'order.json'), '{}');
  writeFileSync(join(cwd, '.svc/workflows.d.ts'), register('refund', 'triage-new', ODD));
  writeFileSync(join(cwd, '.svc/agents.d.ts'), register('support', 'sales'));
  return { cwd, env: { HOME: cwd, PATH: `${join(cwd, 'bin')}:${process.env.PATH}` } };
}

const START: Record<string, { argv: string[]; set: string }> = {
  bash: {
    argv: ['bash', '--norc', '--noprofile', '-i'],
    set: `bind 'set show-all-if-ambiguous on'; bind 'set page-completions off'; source <(svc complete bash)`,
  },
  zsh: { argv: ['zsh', '-f', '-i'], set: `source <(svc complete zsh)` },
};

/** A shell in which someone types. */
async function openShell(shell: 'bash' | 'zsh', before = '') {
  const desk = await makeDesk();
  const { argv, set } = START[shell] ?? { argv: [], set: '' };
  const terminal = openLive(argv, { ...desk, env: { ...desk.env, PS1: 'ready> ' }, columns: 200 });
  terminal.type(`PS1='ready> '; ${before}${set}; say() { local IFS='|'; printf '\\n@@%s@@\\n' "$*"; }; echo se''t\r`);
  await terminal.shows(/\nset\n/);
  return {
    ...desk,
    terminal,
    /** The words that the line holds once TAB is pressed behind it. */
    async press(line: string): Promise<string[]> {
      terminal.type(`${line}\t\u0001say \u0005\r`);
      const [, words = ''] = await terminal.shows(/@@([^@]*)@@/);
      // A folder's slash goes as soon as a space is typed in zsh.
      return words.split('|').map((word) => word.replace(/\/$/, ''));
    },
    /** What is offered; the line is thrown away. */
    async list(line: string, until: RegExp): Promise<string> {
      terminal.type(`${line}\t`);
      const [shown] = await terminal.shows(until);
      terminal.type('\u0015');
      return shown;
    },
  };
}

const BOTH: [typed: string, becomes: string[]][] = [
  ['svc ru', ['svc', 'runs']],
  ['svc runs li', ['svc', 'runs', 'list']],
  ['svc help runs li', ['svc', 'help', 'runs', 'list']],
  ['svc runs list --stat', ['svc', 'runs', 'list', '--status']],
  ['svc runs list --status f', ['svc', 'runs', 'list', '--status', 'failed']],
  ['svc runs list --status=f', ['svc', 'runs', 'list', '--status=failed']],
  ['svc --json runs list --status f', ['svc', '--json', 'runs', 'list', '--status', 'failed']],
  ['svc workflows start tri', ['svc', 'workflows', 'start', 'triage-new']],
  ['svc workflows start it', ['svc', 'workflows', 'start', ODD]],
  [`svc workflows start it\\'`, ['svc', 'workflows', 'start', ODD]],
  ['svc workflows start "it', ['svc', 'workflows', 'start', ODD]],
  [`svc workflows start 're`, ['svc', 'workflows', 'start', 'refund']],
  ['svc workflows start refund --input-file or', ['svc', 'workflows', 'start', 'refund', '--input-file', 'order.json']],
  ['svc workflows start refund --input-file=or', ['svc', 'workflows', 'start', 'refund', '--input-file=order.json']],
  ['svc dev so', ['svc', 'dev', 'some folder']],
  ['svc keys create --agents support,sa', ['svc', 'keys', 'create', '--agents', 'support,sales']],
  ['svc frobnicate li', ['svc', 'frobnicate', 'li']],
  ['svc runs frob', ['svc', 'runs', 'frob']],
  ['svc runs list --frob x', ['svc', 'runs', 'list', '--frob', 'x']],
];

for (const shell of ['bash', 'zsh'] as const)
  describeWhen(needs(shell), `completion in ${shell}`, () => {
    it('completes verbs, flags, values, names and paths, each as the shell reads it back', async () => {
      const { press, terminal, cwd } = await openShell(shell);
      const became: typeof BOTH = [];
      for (const [typed] of BOTH) became.push([typed, await press(typed)]);
      expect(became).toEqual(BOTH);
      // `$(touch pwned)` was typed by no one, and run by no one.
      expect(await readdir(cwd)).not.toContain('pwned');
      expect(terminal.raw()).not.toMatch(/error|not found|bad |usage/i);
    });

    it('runs nothing of what stands on the line', async () => {
      const { list, cwd } = await openShell(shell);
      await list('svc runs list --name "$(touch pwned)" `touch pwned` --status ', /blocked[^]*queued/);
      expect(await readdir(cwd)).not.toContain('pwned');
    });

    it('offers nothing and says nothing where svc fails or is gone', async () => {
      const { press, terminal, cwd } = await openShell(shell);
      rmSync(join(cwd, 'bin/svc'));
      writeFileSync(join(cwd, 'bin/svc'), '#!/bin/sh\necho broken >&2\nexit 7\n', { mode: 0o755 });
      expect(await press('svc ru')).toEqual(['svc', 'ru']);
      rmSync(join(cwd, 'bin/svc'));
      expect(await press('svc ru')).toEqual(['svc', 'ru']);
      expect(terminal.raw()).not.toMatch(/broken|not found|No such/);
    });

    it('asks the svc that is typed with its path', async () => {
      const { press } = await openShell(shell, 'mv bin here; PATH=$PWD/here:$PATH; ');
      expect(await press('here/svc ru')).toEqual(['here/svc', 'runs']);
    });
  });

describeWhen(needs('bash'), 'a list in bash', () => {
  it('shows all that may follow', async () => {
    const { list } = await openShell('bash');
    // In columns, the first of which begins the first line.
    const all = /\n(?=[^>]*\bcancel-all\b)(?=[^>]*\bdelete-all\b)(?=[^>]*\bwebhooks\b)[^>]*\bcancel\b[^>]*\bsteps\b/;
    expect(await list('svc runs ', all)).toMatch(/^\s*cancel\s/);
  });
});

describeWhen(needs('zsh'), 'a list in zsh', () => {
  it('shows what each is', async () => {
    const { list } = await openShell('zsh');
    expect(await list('svc runs ', /cancel[^]*\nsteps[^\n]*/)).toMatch(/^cancel +-- Cancel a/);
  });

  it('is there from a file in $fpath, too', async () => {
    const before =
      'mkdir fn; svc complete zsh > fn/_svc; fpath=($PWD/fn $fpath); autoload -Uz compinit; compinit -i -D; ';
    const { press } = await openShell('zsh', `${before}: `);
    expect(await press('svc ru')).toEqual(['svc', 'runs']);
  });
});

describeWhen(needs('fish'), 'completion in fish', () => {
  function complete({ cwd, env }: Desk, line: string): { words: string[]; stderr: string } {
    const code = 'svc complete fish | source; complete --escape -C $argv[1]';
    const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', code, line], { cwd, env, encoding: 'utf8' });
    return { words: stdout.split('\n').filter(Boolean), stderr };
  }

  it('completes verbs and flags, with what each is', async () => {
    const desk = await makeDesk();
    expect(complete(desk, 'svc run')).toEqual({ words: [expect.stringMatching(/^runs\t[A-Z]/)], stderr: '' });
    expect(complete(desk, 'svc runs list --stat').words).toEqual([expect.stringMatching(/^--status\t[A-Z]/)]);
    expect(complete(desk, 'svc help runs l').words).toEqual([expect.stringMatching(/^list\t[A-Z]/)]);
  });

  it.each([
    ['svc runs list --status f', ['failed']],
    ['svc runs list --status=f', ['--status=failed']],
    ['svc workflows start tri', ['triage-new']],
    ['svc workflows start it', [`it\\'s\\ \\"\\$\\(touch\\ pwned\\)\\"\\ \\\\é\\;\\ b`]],
    ['svc workflows start "re', ['"refund"']],
    ['svc workflows start refund --input-file or', ['order.json']],
    ['svc workflows start refund --input-file=or', ['--input-file=order.json']],
    ['svc dev so', ['some\\ folder/']],
    ['svc keys create --agents support,sa', ['support,sales']],
    ['svc frobnicate li', []],
    ['svc runs list --frob x', []],
    ['svc runs list --name (touch pwned) --status f', ['failed']],
  ])('%s', async (line, expected) => {
    const desk = await makeDesk();
    const { words, stderr } = complete(desk, line);
    expect({ words: words.map((word) => word.split('\t')[0]), stderr }).toEqual({ words: expected, stderr: '' });
    expect(await readdir(desk.cwd)).not.toContain('pwned');
  });

  it('offers nothing and says nothing where svc fails', async () => {
    const desk = await makeDesk();
    const code = 'svc complete fish | source; function svc; echo broken >&2; return 7; end; complete -C "svc ru"';
    const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', code], { ...desk, encoding: 'utf8' });
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' });
  });
});
