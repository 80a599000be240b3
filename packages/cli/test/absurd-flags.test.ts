import { describe, expect, it } from 'vitest';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { listVerbs } from '../src/help.ts';
import type { VerbReference } from '../src/help.ts';
import { runCli } from './_run.ts';
import type { CliResult } from '../src/main.ts';
import { listLeaves } from '../src/group.ts';
import { TREE } from '../src/tree.ts';
import { openSeededBox } from './_seeded.ts';
import { closedAddress, makeProject, readError } from './_setup.ts';

const boxes = setupBoxes();
const ABSURD = ['', '-1', '1e309', 'not-a-thing', '\u0000', 'x'.repeat(5_000), '{"a":', '../../etc/passwd'];

/** A command line for each flag and each argument of a verb with each absurd value. */
function listAbsurd({ command, schema, positionals }: VerbReference): string[][] {
  const words = command.split(' ').slice(1);
  const fill = positionals.map(() => 'x');
  return Object.entries(schema.properties).flatMap(([name, { type }]) => {
    if (GLOBAL.includes(name)) return [];
    const at = positionals.indexOf(name);
    if (at !== -1) return ABSURD.map((value) => [...words, ...fill.with(at, value)]);
    if (type === 'boolean') return ABSURD.map((value) => [...words, ...fill, `--${name}=${value}`]);
    return ABSURD.map((value) => [...words, ...fill, `--${name}`, value]);
  });
}

/** One document on stdout, one line on stderr, a code, and a suggestion; never the one for a bug. */
function checkFailure(result: CliResult, argv: readonly string[]): void {
  const { stdout, stderr, exitCode } = result;
  const { code, message, suggestion } = readError(result);
  const facts = {
    documents: countLines(stdout),
    lines: countLines(stderr),
    isExitCode: [1, 2, 3, 4].includes(exitCode),
    isCode: /^[a-z_]+$/.test(code) && code !== 'internal',
    isSentence: /\w.*[.?!:]$/s.test(message),
    isHelp: /\w/.test(suggestion) && !suggestion.includes('--verbose to see where'),
  };
  const right = { documents: 1, lines: 1, isExitCode: true, isCode: true, isSentence: true, isHelp: true };
  expect({ argv, ...facts }).toEqual({ argv, ...right });
}

function countLines(text: string): number {
  return text.trimEnd().split('\n').length;
}

describe('every flag of every verb', () => {
  it('with an absurd value ends with one clear line and an exit code of the table', async () => {
    const verbs = (await listVerbs(TREE)).filter(({ command }) => !OTHERS.includes(command));
    // Nothing listens there: whatever is let through ends with dev_not_running.
    const cwd = await makeProject(await closedAddress());
    const lines = verbs.flatMap(listAbsurd);
    expect(lines.length).toBeGreaterThan(1_000);
    for (const argv of lines) checkFailure(await runCli([...argv, '--json'], { cwd, env: {} }), argv);
  }, 240_000);

  it('is reported by the box in the same way, and is no error of the box', async () => {
    const { url } = await openSeededBox(boxes);
    const cwd = await makeProject(url);
    const verbs = (await listVerbs(TREE)).filter(({ command }) => PROJECTED.includes(command));
    for (const argv of verbs.flatMap(listAbsurd)) {
      // What is confirmed is let through as well.
      const yes = argv.some((arg) => arg.startsWith('--yes')) ? [] : ['--yes'];
      const asks = verbs.find(({ command }) => command === `svc ${argv.slice(0, 2).join(' ')}`)?.schema.properties.yes;
      const line = [...argv, ...(asks ? yes : []), '--json'];
      const result = await runCli(line, { cwd, env: {}, stdin: 'x', signal: AbortSignal.timeout(5_000) });
      if (result.exitCode !== 0) checkFailure(result, argv);
    }
  }, 240_000);
});

// --- internal ---

const GLOBAL = ['json', 'verbose', 'no-color', 'help'];

/** They write, build, stay or ask a control plane: their own tests give them absurd values. */
const OTHERS = [
  ['init', 'dev', 'start', 'build', 'package', 'check', 'replay', 'complete', 'pull run', 'contract validate'],
  ['add agent', 'add deep-agent', 'add workflow', 'add workflow-agent', 'login', 'logout', 'whoami', 'link'],
  ['schema status', 'schema generate', 'schema apply', 'plane', 'plane backup', 'plane restore'],
  ['plane reset-password', 'plane rotate-keys', 'account sessions', 'account sign-out'],
  ['account delete', 'account delete-organization'],
]
  .flat()
  .map((path) => `svc ${path}`);

/** A stream without end would be held open by what it takes for a filter. */
const PROJECTED = listLeaves(TREE).flatMap(({ path, leaf }) =>
  leaf.operation && path !== 'logs tail' ? [`svc ${path}`] : [],
);
