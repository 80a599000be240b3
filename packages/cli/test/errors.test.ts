import { describe, expect, it } from 'vitest';
import { runCli } from './_run.ts';
import {
  closedAddress,
  failure,
  makeProject,
  readDocument,
  readError,
  REQUEST_ID,
  runAgainst,
  startBox,
  UTF8,
} from './_setup.ts';

describe('what the box refuses', () => {
  it.each([
    [400, 'workflow_input_invalid', 1],
    [400, 'invalid_cursor', 1],
    [401, 'unauthorized', 2],
    [401, 'invalid_signature', 2],
    [403, 'forbidden', 1],
    [404, 'workflow_not_found', 4],
    [404, 'run_not_found', 4],
    [409, 'idempotency_conflict', 1],
    [413, 'payload_too_large', 1],
    [422, 'workflow_guardrail_blocked', 1],
    [500, 'internal', 1],
    [503, 'workflow_compile_failed', 1],
    [503, 'workflow_runtime_not_armed', 1],
  ])('%i %s keeps its code and exits %i, with and without --json', async (status, code, exitCode) => {
    const box = await startBox({
      'POST /api/workflows/greet/start': failure(status, code, 'The reason.', { rule: 'r1' }),
    });
    const json = await runAgainst(box, ['workflows', 'start', 'greet', '--json']);
    expect(readDocument(json)).toEqual({
      schema_version: 1,
      error: {
        code,
        message: expect.stringContaining('The reason.'),
        suggestion: expect.stringMatching(/\w/),
        details: { rule: 'r1' },
        requestId: REQUEST_ID,
      },
    });
    expect(json.stderr).toMatch(/^.*The reason\.\n$/);
    const human = await runAgainst(box, ['workflows', 'start', 'greet']);
    expect(human.stdout).toBe('');
    expect(human.stderr).toContain(`The reason.`);
    expect(human.stderr).toContain(REQUEST_ID);
    expect([json.exitCode, human.exitCode]).toEqual([exitCode, exitCode]);
  });

  it.each([
    [
      ['secrets', 'set', 'FOO', '--from-file', '-'],
      failure(409, 'secret_exists', 'There is a secret "FOO". Replace its value with POST /api/secrets/FOO/rotate.'),
      ['There is a secret "FOO".', 'Replace its value with `svc secrets rotate FOO`.'],
    ],
    [
      ['secrets', 'rotate', 'FOO', '--from-file', '-', '--yes'],
      failure(404, 'secret_not_found', 'There is no secret "FOO". Set it with PUT /api/secrets/FOO.'),
      ['There is no secret "FOO". Set it with `svc secrets set FOO`.', 'Run `svc secrets list` to see the names.'],
    ],
    [
      ['workflows', 'start', 'greet'],
      failure(400, 'workflow_input_invalid', 'No.'),
      ['No.', 'Run `svc workflows schema greet` to see what the workflow accepts.'],
    ],
    [
      ['workflows', 'start', 'greet'],
      failure(503, 'workflow_runtime_not_armed', 'Set A_URL, or send PUT /api/model-provider.'),
      ['Set A_URL, or run `svc provider set <address>`.', 'Run `svc provider set <address>` to set a model provider.'],
    ],
    [
      ['sessions', 'get', 'ada'],
      failure(
        404,
        'session_not_found',
        'There is no session "ada". Give its id, or what the client calls it with "?agent=".',
      ),
      [
        'There is no session "ada". Give its id, or what the client calls it with --agent-name.',
        'Run `svc sessions list` to see the sessions of this box.',
      ],
    ],
    [
      ['hitl', 'approve', 'a1'],
      failure(409, 'already_decided', 'No.'),
      ['No.', 'Run `svc hitl get a1` to see who decided.'],
    ],
    [
      ['hitl', 'approve', 'a$(b)'],
      failure(409, 'already_decided', 'No.'),
      ['No.', 'Run `svc hitl get <id>` to see who decided.'],
    ],
  ])('%j names the verbs, and what they are about', async (argv, answer, [message, suggestion]) => {
    const routes = [
      'PUT /api/secrets/FOO',
      'POST /api/secrets/FOO/rotate',
      'POST /api/workflows/greet/start',
      'GET /api/sessions/ada',
    ];
    const decide = ['a1', 'a%24(b)'].map((id) => `POST /api/approvals/${id}/decide`);
    const box = await startBox(Object.fromEntries([...routes, ...decide].map((route) => [route, answer])));
    const result = await runAgainst(box, [...argv, '--json'], { stdin: 'value' });
    expect(readError(result)).toMatchObject({ message, suggestion });
  });

  it.each([
    [401, 'not_signed_in', 2],
    [403, 'forbidden', 1],
    [404, 'not_found', 4],
    [502, 'generic', 1],
    [200, 'generic', 1],
    [302, 'generic', 1],
  ])('a %i of a program that is no box is %s, exit %i', async (status, code, exitCode) => {
    const box = await startBox({ 'GET /api/runs': { status, text: '<html>hello</html>' } });
    const result = await runAgainst(box, ['runs', 'list', '--json']);
    expect(result.exitCode).toBe(exitCode);
    expect(readError(result)).toMatchObject({
      code,
      message: expect.stringContaining(`${box.url}/api/runs answered ${status}`),
    });
  });
});

describe('what cannot be reached', () => {
  it.each([
    ['workflows', 'list'],
    ['workflows', 'schema', 'greet'],
    ['workflows', 'start', 'greet'],
    ['runs', 'list'],
    ['runs', 'get', 'x'],
    ['contract', 'show'],
  ])('svc %s %s exits 3 with dev_not_running', async (...argv) => {
    const url = await closedAddress();
    const result = await runCli([...argv, '--json'], { cwd: await makeProject(url) });
    expect(result.exitCode).toBe(3);
    expect(readDocument(result)).toEqual({
      schema_version: 1,
      error: {
        code: 'dev_not_running',
        message: `No dev runtime answers on ${url}.`,
        suggestion: 'Run `svc dev` in another terminal, or pass --agent <installationId>.',
        details: {},
      },
    });
    expect(result.stderr).toBe(`No dev runtime answers on ${url}.\n`);
  });

  it('--agent without a control plane exits 3 with no_deployment', async () => {
    const box = await startBox({});
    const result = await runAgainst(box, ['runs', 'list', '--agent', 'inst-1', '--json']);
    expect(result.exitCode).toBe(3);
    expect(readError(result)).toMatchObject({
      code: 'no_deployment',
      message: expect.stringContaining('"inst-1"'),
      suggestion: expect.stringContaining('SVC_CONTROL_PLANE_URL'),
    });
    expect(box.seen).toEqual([]);
  });

  it('Ctrl-C exits 130', async () => {
    const box = await startBox({ 'GET /api/runs': { body: {} } });
    const result = await runAgainst(box, ['runs', 'list', '--json'], { signal: AbortSignal.abort() });
    expect(result.exitCode).toBe(130);
    expect(readError(result).code).toBe('generic');
  });
});

describe('what is shown of a failure', () => {
  it('the request and the stack with --verbose alone', async () => {
    const box = await startBox({ 'GET /api/runs': failure(500, 'internal', 'Something broke.') });
    const quiet = await runAgainst(box, ['runs', 'list']);
    const loud = await runAgainst(box, ['runs', 'list', '--verbose']);
    expect(quiet.stderr).not.toContain('GET ');
    expect(loud.stderr).toContain(`GET ${box.url}/api/runs 500`);
    expect(loud.stderr).toContain('    at ');
  });

  it('no escape sequence of the box reaches the terminal', async () => {
    const box = await startBox({
      'GET /api/runs': failure(500, 'internal', 'a\u001B[2J\u001B]0;title\u0007b\u009B31m'),
    });
    const { stderr } = await runAgainst(box, ['runs', 'list'], { tty: true, env: { ...UTF8, NO_COLOR: '1' } });
    expect(stderr.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });
});
