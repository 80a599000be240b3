import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from './_run.ts';
import { listLeaves } from '../src/group.ts';
import { TREE } from '../src/tree.ts';
import { REPOSITORY } from './_docs.ts';
import { readDocument, readError } from './_setup.ts';

const VERBS = [
  'init',
  'add agent',
  'add deep-agent',
  'add workflow',
  'add workflow-agent',
  'login',
  'logout',
  'whoami',
  'link',
  'dev',
  'build',
  'start',
  'package',
  'check',
  'schema status',
  'schema generate',
  'schema apply',
  'workflows list',
  'workflows schema',
  'workflows start',
  ...listLeaves(TREE).flatMap(({ path, leaf }) => (leaf.operation ? [path] : [])),
  'complete',
  'contract show',
  'contract validate',
];

describe('help', () => {
  it.each(['', ...Object.keys(TREE.verbs)])('of "svc %s" ends with a page of the docs', async (word) => {
    const { stdout } = await runCli([word, '--help'].filter(Boolean));
    const [, page = ''] = /\n\nDocs: node_modules\/@svc\/cli\/dist\/(docs\/\S+\.md)\n$/.exec(stdout) ?? [];
    expect(existsSync(join(REPOSITORY, page)) && page).toMatch(/^docs\/guide\/./);
  });
});

describe('a wrong command line is generic, exit 1', () => {
  it('names the variable where a verb has no flag for it', async () => {
    const { message, suggestion } = readError(await runCli(['start', '--port', '1', '--json']));
    expect(message).toBe('"svc start" has no flag "--port".');
    expect(suggestion).toBe('Set the variable PORT: PORT=8080 svc start');
  });

  it('says by which word the model provider is set', async () => {
    const { message, suggestion } = readError(await runCli(['model-provider', 'set', '--json']));
    expect([message, suggestion]).toEqual([
      'There is no verb "model-provider". Did you mean "provider set"?',
      'Run `svc provider set`.',
    ]);
  });

  it.each([
    [['wrkflows', 'list'], 'There is no verb "wrkflows". Did you mean "workflows list"?'],
    [['workflows', 'lst'], 'There is no verb "workflows lst". Did you mean "workflows list"?'],
    [['validate', 'x'], 'There is no verb "validate". Did you mean "contract validate"?'],
    [['get', 'greet'], 'There is no verb "get". Did you mean "runs get"?'],
    [['hitl', 'aprove', 'x'], 'There is no verb "hitl aprove". Did you mean "hitl approve"?'],
    [['secret', 'set'], 'There is no verb "secret". Did you mean "secrets set"?'],
    [['prompts', 'list', '--owner-kind', 'agnet'], '--owner-kind does not take "agnet".'],
    [['frobnicate'], 'There is no verb "frobnicate".'],
    [['eval', 'list', 'more'], '"svc eval list" does not take the argument "more".'],
    [['evals', 'smoke'], 'There is no verb "evals". Did you mean "eval"?'],
    [['connections'], '"svc connections" has no verb.'],
    [['browser', 'list'], '"svc browser" has no verb.'],
    [['approvals', 'list'], 'There is no verb "approvals". Did you mean "hitl list"?'],
    [['constructor'], 'There is no verb "constructor".'],
    [['workflows'], '"svc workflows" needs a verb: list, schema, start, start-many, queue, dequeue, changes, find.'],
    [['--agent', 'x', 'runs', 'list'], '"--agent" is before the verb.'],
    [['runs', 'list', '--stauts', 'failed'], '"svc runs list" has no flag "--stauts".'],
    [['runs', 'list', '-x'], '"svc runs list" has no flag "-x".'],
    [['runs', 'list', '-xyz_1'], '"svc runs list" has no flag "-xyz_1".'],
    [['hitl', 'approve', '-uA_b-c'], '"svc hitl approve" has no flag "-uA_b-c".'],
    [['runs', 'list', '--no-name'], '--name needs a value.'],
    [['runs', 'list', '--agent'], '--agent needs a value.'],
    [['runs', 'list', 'extra'], '"svc runs list" does not take the argument "extra".'],
    [['runs', 'get'], '"svc runs get" needs <id>.'],
    [['runs', 'get', ''], '"svc runs get" needs <id>.'],
  ])('%j: %s', async (argv, message) => {
    const result = await runCli([...argv, '--json']);
    expect(result.exitCode).toBe(1);
    expect(readError(result)).toMatchObject({
      code: 'generic',
      message,
      suggestion: expect.stringMatching(/\w/),
      details: {},
    });
    expect(result.stderr).toBe(`${message}\n`);
  });

  it('says how an argument that begins with a dash is given', async () => {
    expect(readError(await runCli(['hitl', 'approve', '-uA_b-c', '--json'])).suggestion).toBe(
      'Where it is an argument, put -- before it: svc hitl approve -- -uA_b-c',
    );
    const given = await runCli(['hitl', 'approve', '--json', '--', '-uA_b-c'], {
      env: { SVC_DEV_PORT_OFFSET: '40000' },
    });
    expect(readError(given).code).not.toBe('generic');
  });

  it('suggests the flag that was meant', async () => {
    expect(readError(await runCli(['runs', 'list', '--stauts', 'failed', '--json'])).suggestion).toBe(
      'Did you mean --status?',
    );
    expect(readError(await runCli(['runs', 'list', '--status', 'fialed', '--json'])).suggestion).toBe(
      'Did you mean --status failed?',
    );
  });
});

describe('help', () => {
  it.each(VERBS)('svc %s --help leads with two examples of it', async (verb) => {
    const { stdout, stderr, exitCode } = await runCli([...verb.split(' '), '--help']);
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    const [summary, , heading, first, second, end] = stdout.split('\n');
    expect([summary, heading, end]).toEqual([expect.stringMatching(/\.$/), 'Examples', '']);
    for (const example of [first, second]) expect(example).toMatch(new RegExp(`^  svc ${verb}`));
  });

  it.each(VERBS)('svc %s --help --json is the schema of its arguments', async (verb) => {
    const document = readDocument(await runCli([...verb.split(' '), '--help', '--json']));
    expect(document).toMatchObject({
      schema_version: 1,
      command: `svc ${verb}`,
      schema: { type: 'object', properties: { json: { type: 'boolean' } }, additionalProperties: false },
    });
  });

  it('names the required argument and the values of a flag', async () => {
    const get = readDocument(await runCli(['runs', 'get', '--help', '--json']));
    expect(get).toMatchObject({ positionals: ['id'], schema: { required: ['id'] } });
    const list = readDocument(await runCli(['runs', 'list', '--help', '--json']));
    expect(list).toMatchObject({ schema: { required: [], properties: { kind: { enum: ['workflow', 'agent'] } } } });
  });

  it.each([[[]], [['--help']], [['-h']], [['help']]])('svc %j lists every verb', async (argv) => {
    const { stdout, exitCode } = await runCli(argv);
    expect(exitCode).toBe(0);
    for (const verb of VERBS) expect(stdout).toContain(`  svc ${verb} `);
  });

  it('svc help <verb> is the help of the verb', async () => {
    const { stdout } = await runCli(['help', 'runs', 'get']);
    expect(stdout).toBe((await runCli(['runs', 'get', '--help'])).stdout);
  });

  it('svc --version --json answers the version', async () => {
    expect(readDocument(await runCli(['--version', '--json']))).toEqual({
      schema_version: 1,
      version: expect.stringMatching(/^\d+\./),
    });
  });
});
