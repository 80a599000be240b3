import * as compiler from '@svc/compiler';
import * as runtime from '@svc/runtime/host';
import { expect, it } from 'vitest';
import { renderReference } from '../../../scripts/_reference.mjs';
import type { Group } from '../src/group.ts';
import * as controlPlane from '../../control-plane/src/index.ts';
import * as cli from '../src/index.ts';
import { operationGroup } from '../src/operations/group.ts';
import { object, string } from '../src/payload/payload.ts';
import type { CaptureOptions } from '../src/terminal/terminal.ts';
import { defineVerb } from '../src/verb.ts';
import { runCli } from './_run.ts';
import { makeProject, readDocument, startBox } from './_setup.ts';

// A group that is one object, and one member of the tree.

const shelf = operationGroup({
  summary: 'See what stands on the shelf.',
  page: 'operating',
  examples: ['svc shelf list', 'svc shelf take <id>'],
  sample: 'blue-book',
  verbs: {
    list: {
      summary: 'List the books, newest first.',
      operation: 'runs.list',
      items: 'books',
      columns: ['book=runId:name', 'read=status:state'],
      completes: { name: { words: ['blue', 'green'] } },
    },
    take: {
      summary: 'Take a book from the shelf.',
      operation: 'runs.get',
      done: 'Took',
      subject: ({ runId }) => `book ${String(runId)}`,
    },
  },
});

const weigh = {
  summary: 'Weigh the shelf.',
  page: 'deploy',
  load: async () =>
    defineVerb({
      examples: ['svc weigh', 'svc weigh --json'],
      args: { unit: { type: 'enum', options: ['kg', 'lb'], default: 'kg', description: 'Of the weight.' } },
      payload: object({ weight: string('With its unit.') }),
      run: async ({ unit }) => ({ data: { weight: `7 ${unit}` }, human: () => `7 ${unit}` }),
    }),
};

const ROOT: Group = { ...cli.TREE, verbs: { ...cli.TREE.verbs, shelf, weigh } };

const run = async (argv: string[], options: CaptureOptions = {}) => runCli(argv, options, ROOT);

it('is in the help of all, and has a help of its own', async () => {
  expect((await run(['--help'])).stdout).toMatch(/ {2}svc shelf list +List the books, newest first\./);
  const { stdout } = await run(['shelf']).then(() => run(['shelf', '--help']));
  expect(stdout).toMatch(/^See what stands on the shelf\.\n\nExamples\n {2}svc shelf list\n {2}svc shelf take <id>\n/);
  expect(stdout).toMatch(/Docs: \S+\/operating\.md\n$/);
  expect((await run(['weigh', '--help'])).stdout).toMatch(/--unit <unit> +Of the weight\.[^]*\/deploy\.md\n$/);
  expect((await run(['shelf', 'take', '--help'])).stdout).toContain('svc shelf take blue-book --json');
});

it('has help for programs', async () => {
  expect(readDocument(await run(['--help', '--json'])).verbs).toContainEqual({
    command: 'svc shelf take',
    description: 'Take a book from the shelf.',
  });
  expect(readDocument(await run(['weigh', '--help', '--json']))).toMatchObject({
    command: 'svc weigh',
    schema: { properties: { unit: { enum: ['kg', 'lb'] } } },
    payload: { properties: { weight: { type: 'string' } } },
  });
});

it('is completed: its words, its flags and their values', async () => {
  const complete = async (...words: string[]) =>
    (await run(['complete', '--', ...words], { cwd: await makeProject() })).stdout
      .split('\n')
      .map((line) => line.split('\t')[0]);
  expect(await complete('she')).toEqual(['shelf', '']);
  expect(await complete('shelf', '')).toEqual(['list', 'take', '']);
  expect(await complete('shelf', 'list', '--name', 'b')).toEqual(['blue', '']);
  expect(await complete('weigh', '--unit', '')).toEqual(['kg', 'lb', '']);
});

it('is meant where a word is misspelt', async () => {
  expect((await run(['shlef', 'list'])).stderr).toContain('Did you mean "shelf list"?');
});

it('is in the reference: its page and its payloads', async () => {
  const pages = await renderReference({ runtime, cli: { ...cli, TREE: ROOT }, compiler, controlPlane });
  expect(pages['commands.md']).toContain('## `svc shelf take`\n\nTake a book from the shelf.');
  expect(Object.keys(JSON.parse(pages['payloads.json'] ?? '{}') as object)).toEqual(
    expect.arrayContaining(['svc shelf list', 'svc shelf take', 'svc weigh']),
  );
});

it('runs: its columns, and what it says of what it did', async () => {
  const box = await startBox({
    'GET /api/runs': { body: { items: [{ runId: 'r1', status: 'failed' }], nextCursor: null } },
    'GET /api/runs/r1': { body: { runId: 'r1' } },
  });
  const options = { cwd: await makeProject(box.url), tty: true };
  expect((await run(['shelf', 'list', '--no-color'], options)).stdout).toMatch(/book +read[^]*\n[^]*r1[^]*failed/i);
  expect((await run(['shelf', 'take', 'r1'], options)).stdout).toContain('book r1\n');
  expect((await run(['weigh', '--unit', 'lb'])).stdout).toBe('7 lb\n');
});
