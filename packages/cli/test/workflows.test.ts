import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from './_run.ts';
import { failure, makeProject, readDocument, readError, REQUEST_ID, runAgainst, startBox, UTF8 } from './_setup.ts';

const GREET = { name: 'greet', trigger: 'POST /api/workflows/greet/start', hasSchema: true };
const TIDY = { name: 'tidy', trigger: 'POST /api/workflows/tidy/start', hasSchema: false };
const RECEIPT = {
  workflowName: 'greet',
  status: 'started',
  runId: '0192f3b4-7a10-7abc-8def-0123456789ab',
  worldRunId: '0192f3b47a107abc8def0123456789ab',
  trigger: GREET.trigger,
};

describe('svc workflows list', () => {
  it('answers name, trigger and hasSchema of each workflow and nothing else', async () => {
    const box = await startBox({ 'GET /api/workflows': { body: { items: [{ ...GREET, steps: [] }, TIDY] } } });
    const result = await runAgainst(box, ['workflows', 'list', '--json']);
    expect(readDocument(result)).toEqual({ schema_version: 1, items: [GREET, TIDY] });
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('marks a declared schema with a filled diamond', async () => {
    const box = await startBox({ 'GET /api/workflows': { body: { items: [GREET, TIDY] } } });
    const { stdout } = await runAgainst(box, ['workflows', 'list'], {
      tty: true,
      columns: 100,
      env: { ...UTF8, NO_COLOR: '1' },
    });
    expect(stdout.split('\n')).toEqual([
      'schema  name   trigger',
      '◆       greet  POST /api/workflows/greet/start',
      '◇       tidy   POST /api/workflows/tidy/start',
      '',
    ]);
  });

  it('falls back to brackets where the locale is not UTF-8', async () => {
    const box = await startBox({ 'GET /api/workflows': { body: { items: [GREET, TIDY] } } });
    const { stdout } = await runAgainst(box, ['workflows', 'list'], { env: { LC_ALL: 'C' } });
    expect(stdout).toBe(`[x]\tgreet\t${GREET.trigger}\n[ ]\ttidy\t${TIDY.trigger}\n`);
  });

  it('says so when no workflows are exposed', async () => {
    const box = await startBox({ 'GET /api/workflows': { body: { items: [] } } });
    const { stdout, stderr } = await runAgainst(box, ['workflows', 'list']);
    expect(stdout).toBe('No workflows are exposed.\n');
    expect(stderr).toContain('without a model provider');
    expect(readDocument(await runAgainst(box, ['workflows', 'list', '--json']))).toEqual({
      schema_version: 1,
      items: [],
    });
  });
});

describe('svc workflows schema', () => {
  it('answers both schemas, each of which may be null', async () => {
    const input = { type: 'object', properties: { name: { type: 'string' } } };
    const box = await startBox({ 'GET /api/workflows/greet/schema': { body: { input, output: null } } });
    const result = await runAgainst(box, ['workflows', 'schema', 'greet', '--json']);
    expect(readDocument(result)).toEqual({ schema_version: 1, schema: { input, output: null } });
    const { stdout } = await runAgainst(box, ['workflows', 'schema', 'greet']);
    expect(stdout).toBe(`input\n${JSON.stringify(input, null, 2)}\n\noutput\nnone declared\n`);
  });

  it('answers what the runs publish too, where the workflow says it', async () => {
    const schemas = { input: null, output: null, state: { type: 'string' } };
    const box = await startBox({ 'GET /api/workflows/greet/schema': { body: schemas } });
    const result = await runAgainst(box, ['workflows', 'schema', 'greet', '--json']);
    expect(readDocument(result)).toEqual({ schema_version: 1, schema: schemas });
    const { stdout } = await runAgainst(box, ['workflows', 'schema', 'greet']);
    expect(stdout.split('\n\n').at(-1)).toBe(`state\n${JSON.stringify(schemas.state, null, 2)}\n`);
  });

  it('exits 4 for an unknown workflow', async () => {
    const box = await startBox({
      'GET /api/workflows/nope/schema': failure(404, 'workflow_not_found', 'There is no workflow "nope".'),
    });
    const result = await runAgainst(box, ['workflows', 'schema', 'nope', '--json']);
    expect(result.exitCode).toBe(4);
    expect(readError(result).code).toBe('workflow_not_found');
  });
});

describe('svc workflows start', () => {
  it('answers the receipt', async () => {
    const box = await startBox({ 'POST /api/workflows/greet/start': { status: 202, body: RECEIPT } });
    const result = await runAgainst(box, ['workflows', 'start', 'greet', '--input', '{"name":"Ada"}', '--json']);
    expect(readDocument(result)).toEqual({ schema_version: 1, ...RECEIPT });
    expect(result.exitCode).toBe(0);
    expect(box.seen).toEqual([
      { line: 'POST /api/workflows/greet/start', body: '{"name":"Ada"}', contentType: 'application/json' },
    ]);
  });

  it('sends {} without input', async () => {
    const box = await startBox({ 'POST /api/workflows/greet/start': { status: 202, body: RECEIPT } });
    const { stdout, stderr } = await runAgainst(box, ['workflows', 'start', 'greet']);
    expect(box.seen[0]?.body).toBe('{}');
    expect(stdout).toBe(`Started greet: run ${RECEIPT.runId}\n`);
    expect(stderr).toContain(`svc runs get ${RECEIPT.runId}`);
  });

  it('says that a start was queued', async () => {
    const { workflowName, trigger } = RECEIPT;
    const queued = { workflowName, status: 'queued', trigger };
    const box = await startBox({ 'POST /api/workflows/greet/start': { status: 202, body: queued } });
    expect((await runAgainst(box, ['workflows', 'start', 'greet'])).stdout).toContain('Queued greet');
    expect(readDocument(await runAgainst(box, ['workflows', 'start', 'greet', '--json']))).toEqual({
      schema_version: 1,
      ...queued,
    });
  });

  it('reads --input-file relative to the current folder, and --input wins over it', async () => {
    const box = await startBox({ 'POST /api/workflows/greet/start': { status: 202, body: RECEIPT } });
    const cwd = await makeProject(box.url);
    await mkdir(join(cwd, 'deep'));
    await writeFile(join(cwd, 'deep', 'input.json'), '\uFEFF{"name":"file"}');
    await runCli(['workflows', 'start', 'greet', '--input-file', 'input.json'], { cwd: join(cwd, 'deep') });
    await runCli(['workflows', 'start', 'greet', '--input-file', 'absent.json', '--input', '["flag"]'], { cwd });
    expect(box.seen.map(({ body }) => body)).toEqual(['{"name":"file"}', '["flag"]']);
  });

  it.each([
    ['invalid_json', ['--input', '{name: 1}']],
    ['invalid_json', ['--input', '']],
    ['invalid_json', ['--input-file', 'broken.json']],
    ['file_unreadable', ['--input-file', 'absent.json']],
    ['file_unreadable', ['--input-file', 'workflows']],
  ])('refuses with %s before anything is sent: %j', async (code, flags) => {
    const box = await startBox({ 'POST /api/workflows/greet/start': { status: 202, body: RECEIPT } });
    const cwd = await makeProject(box.url);
    await writeFile(join(cwd, 'broken.json'), '{');
    const result = await runCli(['workflows', 'start', 'greet', '--json', ...flags], { cwd });
    expect(result.exitCode).toBe(1);
    expect(readError(result).code).toBe(code);
    expect(box.seen).toEqual([]);
  });

  it('prints the path and message of each issue on stderr', async () => {
    const issues = [
      { path: [], message: 'Unrecognized key' },
      { path: ['items', 0, 'qty'], message: 'Expected number' },
    ];
    const box = await startBox({
      'POST /api/workflows/greet/start': failure(400, 'workflow_input_invalid', 'The input does not match.', {
        issues,
      }),
    });
    const human = await runAgainst(box, ['workflows', 'start', 'greet']);
    expect(human).toMatchObject({ exitCode: 1, stdout: '' });
    expect(human.stderr).toContain('  (input): Unrecognized key\n  items[0].qty: Expected number\n');
    const json = await runAgainst(box, ['workflows', 'start', 'greet', '--json']);
    expect(readError(json)).toMatchObject({
      code: 'workflow_input_invalid',
      details: { issues },
      requestId: REQUEST_ID,
    });
    expect(json.stderr).toBe('The input does not match. (input): Unrecognized key; items[0].qty: Expected number\n');
    expect(json.exitCode).toBe(1);
  });

  it('says "workflow not found", suggests the nearest and exits 4 for an unknown workflow', async () => {
    const message = 'There is no workflow "refnd". This box has "greet" and "refund".';
    const box = await startBox({
      'POST /api/workflows/refnd/start': failure(404, 'workflow_not_found', message, {
        workflows: ['greet', 'refund'],
      }),
    });
    const result = await runAgainst(box, ['workflows', 'start', 'refnd']);
    expect(result.exitCode).toBe(4);
    expect(result.stderr).toContain(`Workflow not found. ${message}`);
    expect(result.stderr).toContain('Did you mean "refund"?');
  });

  it('sends a name with a slash as one segment, and "..", which a URL would resolve away, not at all', async () => {
    const box = await startBox({});
    await runAgainst(box, ['workflows', 'start', 'a/b?c']);
    const result = await runAgainst(box, ['workflows', 'start', '..']);
    expect(box.seen.map(({ line }) => line)).toEqual(['POST /api/workflows/a%2Fb%3Fc/start']);
    expect(result.exitCode).toBe(4);
  });
});

describe('svc workflows start --wait', () => {
  const receipt = { workflowName: 'greet', status: 'started', runId: 'r1', trigger: 'POST /api/workflows/greet/start' };
  const over = (status: string, more: object = {}) => ({ runId: 'r1', name: 'greet', status, output: null, ...more });
  const start = async (run: object, argv: string[] = []) => {
    const box = await startBox({
      'POST /api/workflows/greet/start': { status: 202, body: receipt },
      'GET /api/runs/r1': { body: run },
    });
    return runAgainst(box, ['workflows', 'start', 'greet', '--wait', ...argv]);
  };

  it('answers the run once it is over', async () => {
    const run = over('completed', { output: { text: 'Hello' } });
    const result = await start(run, ['--json']);
    expect(readDocument(result)).toEqual({ schema_version: 1, ...receipt, run });
    expect([result.exitCode, result.stderr]).toEqual([0, '']);
    expect((await start(run)).stdout).toContain('"text": "Hello"');
  });

  it.each(['failed', 'cancelled'])('ends with 1 when it is %s', async (status) => {
    const { exitCode, stdout } = await start(over(status, { error: { message: 'The account is empty.' } }));
    expect(exitCode).toBe(1);
    expect(stdout).toContain('The account is empty.');
  });

  it('says in plain lines on a pipe what is under way', async () => {
    const box = await startBox({
      'POST /api/workflows/greet/start': { status: 202, body: { ...receipt, runId: undefined, triggerId: 't1' } },
      'GET /api/workflows/greet/queue/t1': { body: { runId: 'r1' } },
      'GET /api/runs/r1': { body: over('completed') },
    });
    const { stderr } = await runAgainst(box, ['workflows', 'start', 'greet', '--wait']);
    expect(stderr.split('\n')[0]).toBe('Waiting in the queue of greet');
    expect(stderr).not.toContain('\u001B[');
  });

  it('sends the idempotency key', async () => {
    const box = await startBox({ 'POST /api/workflows/greet/start': { status: 202, body: receipt } });
    await runAgainst(box, ['workflows', 'start', 'greet', '--idempotency-key', 'k1']);
    expect(box.seen[0]?.idempotencyKey).toBe('k1');
  });
});

describe('svc workflows start-many', () => {
  const ROUTE = 'POST /api/workflows/greet/start-many';
  const answerAll = (body: string) => {
    const { items } = JSON.parse(body) as { items: { input?: { bad?: boolean } }[] };
    const made = items.map((item, index) =>
      item.input?.bad === true
        ? { index, status: 'refused', error: { code: 'workflow_input_invalid', message: 'It is bad.' } }
        : { ...RECEIPT, index },
    );
    const refused = made.filter(({ status }) => status === 'refused').length;
    return { status: 202, body: { started: made.length - refused, queued: 0, refused, items: made } };
  };

  it('sends a long file 500 lines at a time, each with a key that its place gives it', async () => {
    const box = await startBox({ [ROUTE]: answerAll });
    const cwd = await makeProject(box.url);
    await writeFile(
      join(cwd, 'starts.jsonl'),
      Array.from({ length: 1_200 }, (_, n) => `{"input":{"n":${n}}}`).join('\n'),
    );
    const argv = ['workflows', 'start-many', 'greet', '--from', 'starts.jsonl', '--idempotency-key', 'k', '--json'];
    const { exitCode, stdout } = await runCli(argv, { cwd });
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { index?: number; type?: string });
    expect([exitCode, lines.length, lines[1_199]?.index, lines.at(-1)?.type]).toEqual([0, 1_201, 1_199, 'end']);
    expect(box.seen.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['k from 0', 'k from 500', 'k from 1000']);
  });

  it('says which were refused, and ends with 1', async () => {
    const box = await startBox({ [ROUTE]: answerAll });
    const cwd = await makeProject(box.url);
    const stdin = '{"input":{}}\n\n{"input":{"bad":true}}\n';
    const result = await runCli(['workflows', 'start-many', 'greet', '--from', '-'], {
      cwd,
      stdin,
      env: { NO_COLOR: '1' },
    });
    expect(result.stdout).toBe(`1 started run ${RECEIPT.runId}\n2 refused workflow_input_invalid: It is bad.\n`);
    expect([result.exitCode, result.stderr]).toEqual([1, expect.stringContaining('1 of 2 starts were refused')]);
  });

  it('names the line that is no JSON, and the file that is not there', async () => {
    const box = await startBox({ [ROUTE]: answerAll });
    const cwd = await makeProject(box.url);
    const broken = await runCli(['workflows', 'start-many', 'greet', '--from', '-', '--json'], { cwd, stdin: '{}\n{' });
    expect(readError(broken)).toMatchObject({ code: 'invalid_json', message: expect.stringContaining('Line 2') });
    const none = await runCli(['workflows', 'start-many', 'greet', '--from', 'none.jsonl', '--json'], { cwd });
    expect(readError(none)).toMatchObject({ code: 'file_unreadable' });
    expect(box.seen).toEqual([]);
  });
});
