import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import type { Manifest, Replayed } from '@svc/runtime/host';
import { docsPath } from '../../workspace/docs-path.ts';
import { CliError } from '../../errors.ts';
import { checkPlace } from '../../workspace/place.ts';
import type { History } from './history.ts';
import { writeWhole } from './write.ts';

/** The file a test may be written to. Throws what is wrong with it. */
export function checkPromotion(file: string, { force }: { force: boolean }): string {
  const name = basename(file);
  if (/\.evals?\.[cm]?[jt]s$/.test(name))
    throw new CliError(
      'promote_refused',
      `"${name}" would be a case of an eval, which is kept in a box and not in a file.`,
      {
        suggestion: 'Make one with svc pull run <id> --promote eval, or write a vitest test: --promote <file>.test.ts',
      },
    );
  if (!/\.(?:test|spec)\.[cm]?ts$/.test(name))
    throw new CliError('promote_refused', `"${name}" is no name of a test.`, {
      suggestion: 'Name it <file>.test.ts, so that vitest finds it.',
    });
  checkPlace(file, { flag: 'promote', kind: 'file' });
  if (existsSync(file) && !force)
    throw new CliError('already_exists', `"${file}" is there already.`, {
      suggestion: 'Add --force to replace it, or choose another name.',
    });
  return file;
}

export interface Promotion {
  history: History;
  replayed: Replayed;
  root: string;
  file: string;
}

/** Writes a test that holds the code to the history. Throws when the code does something else already. */
export function promote({ history, replayed, root, file }: Promotion): string {
  if (replayed.difference || replayed.outcome === 'stuck')
    throw new CliError(
      'promote_refused',
      `No test is written: the code does something else than the run did. ${replayed.difference?.message ?? ''}`.trim(),
      {
        suggestion: 'Correct the code until svc replay says it is the same, then promote the run.',
        details: { replayed },
      },
    );
  writeWhole(file, toTest({ history, replayed, root, file }));
  return file;
}

/** What the test needs first; undefined: vitest is installed where it lies. */
export function findTestHint(file: string): string | undefined {
  for (let folder = dirname(file), below = ''; folder !== below; below = folder, folder = dirname(folder))
    if (existsSync(join(folder, 'node_modules/vitest'))) return undefined;
  return `To run it: npm i -D vitest @svc/compiler, and the vitest.config.ts of ${docsPath('guide/testing.md')}`;
}

// --- internal ---

function toTest({ history, replayed, root, file }: Promotion): string {
  const { kind, name, runId } = history.run;
  const source = kind === 'agent' ? `deep-agents/${name}/index.ts` : findSource(root, name);
  const code = toIdentifier(name);
  const path = toImport(file, `${root}/${source}`);
  const steps = replayed.calls.map(({ name: step, output, error }) =>
    error ? [step, { error: error.message }] : [step, output],
  );
  return `import { replayRun } from '@svc/runtime/testing';
import { expect, test } from 'vitest';
import ${kind === 'agent' ? code : `* as ${code}`} from ${quote(path)};

// Written by \`svc replay --promote\`. Each step gets the result it had in the run; none is executed. Change the history
// with the code when the code is meant to do something else.
test(${quote(`${name} does what run ${runId} did`)}, async () => {
  const { calls, ${replayed.outcome === 'open' ? 'next' : 'ended'} } = await replayRun(${code}, history);
  expect(calls.map(({ name, output, error }) => [name, error ? { error: error.message } : output])).toEqual(${indent(steps)});
  ${toExpectation(replayed)}
});

const history = ${JSON.stringify(toKept(history), null, 2)};
`;
}

/** The file of a workflow, which may hold others too: as the replay that came before has found it. */
function findSource(root: string, name: string): string {
  const manifest = JSON.parse(readFileSync(join(root, '.svc/manifest.json'), 'utf8')) as Manifest;
  return manifest.workflows.find((one) => one.name === name)?.file ?? `workflows/${name}.workflow.ts`;
}

function toExpectation({ outcome, ended, next }: Replayed): string {
  if (outcome === 'open')
    return `expect(next.map(({ name }) => name)).toEqual(${indent(next.map(({ name }) => name))});`;
  if (ended?.error)
    return `expect(ended).toMatchObject(${indent({ status: 'failed', error: { message: ended.error.message } })});`;
  return `expect(ended).toEqual(${indent({ status: ended?.status, output: ended?.output ?? null, error: null })});`;
}

/** What a replay needs; what people read is in the assertions. */
function toKept(history: History): object {
  return { ...history, steps: [], children: [] };
}

function indent(value: unknown): string {
  return (JSON.stringify(value, null, 2) ?? 'undefined').replaceAll('\n', '\n  ');
}

function toImport(file: string, source: string): string {
  const path = relative(dirname(file), source).split(sep).join('/');
  return path.startsWith('.') ? path : `./${path}`;
}

function toIdentifier(name: string): string {
  const words = name.replaceAll(/[^a-zA-Z0-9]+(.)?/g, (_, letter: string | undefined) => letter?.toUpperCase() ?? '');
  return /^[a-z]/i.test(words) && !RESERVED.has(words) ? words : `_${words}`;
}

const RESERVED = new Set([
  'test',
  'expect',
  'history',
  'replayRun',
  'calls',
  'next',
  'ended',
  'default',
  'import',
  'export',
  'delete',
  'new',
  'return',
  'switch',
  'void',
  'with',
  'class',
  'case',
  'do',
  'for',
  'function',
  'if',
  'in',
  'try',
  'var',
  'let',
  'const',
  'while',
  'yield',
  'await',
  'async',
  'this',
  'throw',
  'null',
  'true',
  'false',
  'enum',
  'else',
  'catch',
  'break',
  'continue',
  'debugger',
  'finally',
  'super',
  'typeof',
  'instanceof',
  'package',
  'static',
  'interface',
  'public',
  'private',
  'protected',
  'implements',
]);

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
