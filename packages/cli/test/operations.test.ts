import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { countMadeUp } from './_documents.ts';
import { runCli } from './_run.ts';
import { failure, makeProject, readDocument, readError, runAgainst, startBox, UTF8 } from './_setup.ts';

const PAGE = { items: [], nextCursor: null };

describe('an operation as a verb', () => {
  it('takes what its path names as arguments, and every other member as a flag', async () => {
    const box = await startBox({ 'POST /api/approvals/a%2Fb/decide': { body: { approvalId: 'a/b', title: 'Ship?' } } });
    const argv = ['hitl', 'reject', 'a/b', '--note', 'No.', '--input', '{"n":1}', '--idempotency-key', 'k1', '--json'];
    expect(readDocument(await runAgainst(box, argv))).toEqual({ schema_version: 1, approvalId: 'a/b', title: 'Ship?' });
    expect(box.seen.map(({ line, body }) => [line, JSON.parse(body)])).toEqual([
      ['POST /api/approvals/a%2Fb/decide', { decision: 'reject', note: 'No.', input: { n: 1 } }],
    ]);
  });

  it('renames a member that would hide the box a command talks to', async () => {
    const box = await startBox({ 'GET /api/sessions': { body: PAGE } });
    await runAgainst(box, ['sessions', 'list', '--agent-name', 'support']);
    expect(box.seen[0]?.line).toBe('GET /api/sessions?agent=support');
  });

  it('takes how long ago something was where the box takes a time', async () => {
    const box = await startBox({ 'GET /api/logs': { body: PAGE } });
    await runAgainst(box, ['logs', 'list', '--from', '2h']);
    const from = new URL(box.url + box.seen[0]?.line.slice(4)).searchParams.get('from') ?? '';
    expect(Math.round((Date.now() - Date.parse(from)) / 60_000)).toBe(120);
  });

  it('reads JSON from a file, and from a pipe', async () => {
    const box = await startBox({ 'POST /api/approvals/a/decide': { body: { approvalId: 'a', title: 'Ship?' } } });
    const cwd = await makeProject(box.url);
    await writeFile(join(cwd, 'edited.json'), '\uFEFF{"n":2}');
    await runCli(['hitl', 'approve', 'a', '--input-file', 'edited.json'], { cwd });
    await runCli(['hitl', 'approve', 'a', '--input-file', '-'], { cwd, stdin: '{"n":3}' });
    expect(box.seen.map(({ body }) => (JSON.parse(body) as { input: unknown }).input)).toEqual([{ n: 2 }, { n: 3 }]);
  });

  it('follows the cursors to the end with --all', async () => {
    const { url, lines } = await startPages([['1', '2'], ['3'], ['4']]);
    const cwd = await makeProject(url);
    const result = await runCli(['secrets', 'list', '--all', '--json'], { cwd });
    expect(readDocument(result)).toMatchObject({
      items: ['1', '2', '3', '4'].map((name) => ({ name })),
      nextCursor: null,
    });
    expect(lines).toEqual([
      'GET /api/secrets?limit=200',
      'GET /api/secrets?limit=200&cursor=c1',
      'GET /api/secrets?limit=200&cursor=c2',
    ]);
  });

  it('asks with the token of SVC_API_TOKEN at the address of --url', async () => {
    let seen: unknown;
    const url = await serve((response, headers) => {
      seen = headers.authorization;
      response.end(JSON.stringify(PAGE));
    });
    const env = { SVC_API_TOKEN: 'operator-token' };
    expect((await runCli(['keys', 'list', '--url', url], { env })).exitCode).toBe(0);
    expect(seen).toBe('Bearer operator-token');
    const refused = await startBox({ 'GET /api/keys': failure(401, 'unauthorized', 'The credential is unknown.') });
    expect((await runCli(['keys', 'list', '--url', refused.url], { env })).exitCode).toBe(2);
  });
});

describe('svc activity list', () => {
  it('says on 80 columns who did what to what', async () => {
    const at = new Date(Date.now() - 15 * 60_000).toISOString();
    const id = '0192f3b4-7a10-7abc-8def-0123456789ab';
    const rest = { operation: 'prompts.publish', target: { id }, source: 'http' };
    const items = [{ id, at, actor: { id: 'u', name: 'ada@example.com' }, ...rest }];
    const box = await startBox({ 'GET /api/activity': { body: { items, nextCursor: null } } });
    const show = async (columns: number) =>
      (await runAgainst(box, ['activity', 'list', '--no-color'], { tty: true, columns })).stdout.split('\n')[1];
    expect(await show(80)).toBe('0192f3b4-7a10  15m ago  ada@examp…  prompts.publish  0192f3b4-7a10-7abc…  http');
    expect(await show(140)).toBe(`0192f3b4-7a10  15m ago  ada@example.com  prompts.publish  ${id}  http`);
  });
});

describe('what cannot be undone', () => {
  const routes = { 'DELETE /api/secrets/A': { body: { name: 'A', deleted: true } } };

  it('needs --yes where it cannot ask, and nothing is sent', async () => {
    const box = await startBox(routes);
    for (const options of [{}, { tty: true }, { tty: true, stdin: ['y'], flags: ['--json'] }]) {
      const argv = ['secrets', 'delete', 'A', ...('flags' in options ? (options.flags ?? []) : ['--json'])];
      const result = await runAgainst(box, argv, options);
      expect([readError(result).code, result.exitCode]).toEqual(['confirm_required', 1]);
    }
    expect(box.seen).toEqual([]);
    expect((await runAgainst(box, ['secrets', 'delete', 'A', '--yes'])).exitCode).toBe(0);
  });

  it.each([
    ['y', 0, 1],
    ['yes', 0, 1],
    ['n', 1, 0],
    ['', 1, 0],
  ])('a person who types %j', async (typed, exitCode, sent) => {
    const box = await startBox(routes);
    const result = await runAgainst(box, ['secrets', 'delete', 'A'], { tty: true, stdin: [typed] });
    expect([result.exitCode, box.seen.length]).toEqual([exitCode, sent]);
    expect(result.stderr).toContain('svc secrets delete A: this cannot be undone. Continue? [y/N]');
  });

  it('stops with 130 when the person leaves', async () => {
    const box = await startBox(routes);
    const result = await runAgainst(box, ['secrets', 'delete', 'A'], { tty: true, stdin: [] });
    expect([result.exitCode, box.seen.length]).toEqual([130, 0]);
  });
});

describe('svc secrets set', () => {
  const routes = { 'PUT /api/secrets/A': { status: 201, body: { name: 'A' } } };

  it.each([
    ['a pipe', { stdin: 'the value\n' }, []],
    ['a person', { stdin: ['the value'], tty: true }, []],
    ['a pipe that is named', { stdin: 'the value\r\n' }, ['--from-file', '-']],
  ])('takes the value from %s, without the line break at its end', async (_, options, flags) => {
    const box = await startBox(routes);
    const { stdout, stderr, exitCode } = await runAgainst(box, ['secrets', 'set', 'A', ...flags], options);
    expect([exitCode, JSON.parse(box.seen[0]?.body ?? '')]).toEqual([0, { value: 'the value' }]);
    expect(stdout + stderr).not.toContain('the value');
  });

  it('refuses a value on the command line and says why, without showing it', async () => {
    const box = await startBox(routes);
    const result = await runAgainst(box, ['secrets', 'set', 'A', 'hunter2']);
    expect([result.exitCode, box.seen]).toEqual([1, []]);
    expect(result.stderr).toContain('never an argument');
    expect(result.stdout + result.stderr).not.toContain('hunter2');
  });

  it('refuses an empty value', async () => {
    const result = await runAgainst(await startBox(routes), ['secrets', 'set', 'A'], { stdin: '\n' });
    expect(result.stderr).toContain('The value of the secret is empty.');
  });
});

describe('svc provider', () => {
  const baseUrl = 'https://provider.example/v1';
  const stored = (hasKey: boolean, source = 'stored') => ({
    'PUT /api/model-provider': { body: { baseUrl, source, hasKey } },
  });

  it.each([
    ['a pipe', { stdin: 'the-key\n' }, [], { baseUrl, apiKey: 'the-key' }],
    ['a person', { stdin: ['the-key'], tty: true }, [], { baseUrl, apiKey: 'the-key' }],
    ['a person who presses Enter', { stdin: [''], tty: true }, [], { baseUrl }],
    ['nobody, where --keyless says that there is none', {}, ['--keyless'], { baseUrl }],
  ])('takes the key from %s', async (_, options, flags, sent) => {
    const box = await startBox(stored('apiKey' in sent));
    const result = await runAgainst(box, ['provider', 'set', baseUrl, ...flags], options);
    expect([result.exitCode, box.seen.map(({ body }) => JSON.parse(body))]).toEqual([0, [sent]]);
    expect(result.stdout).toContain(baseUrl);
    expect(result.stdout + result.stderr).not.toContain('the-key');
  });

  it.each([
    [['the-key'], { stdin: '' }, 'The key of the provider is never an argument'],
    [[], { stdin: '\n' }, 'The key of the provider is empty.'],
    [['--keyless', '--from-file', 'x'], {}, '--keyless does not go with --from-file.'],
  ])('sends nothing with %j', async (flags, options, message) => {
    const box = await startBox(stored(true));
    const result = await runAgainst(box, ['provider', 'set', baseUrl, ...flags], options);
    expect([result.exitCode, box.seen]).toEqual([1, []]);
    expect(result.stderr).toContain(message);
    expect(result.stdout + result.stderr).not.toContain('the-key');
  });

  it('says that one of the environment goes before the stored one', async () => {
    const box = await startBox(stored(true, 'environment'));
    const { stderr } = await runAgainst(box, ['provider', 'set', baseUrl], { stdin: 'k', tty: false });
    expect(stderr).toContain('MODEL_PROVIDER_BASE_URL is set, and goes before what is stored.');
  });

  it('shows where model calls go, and prints the same as JSON', async () => {
    const box = await startBox({ 'GET /api/model-provider': { body: { baseUrl, source: 'stored', hasKey: true } } });
    const { stdout } = await runAgainst(box, ['provider', 'get']);
    expect(stdout).toBe(`provider  ${baseUrl}\nsource    stored\nkey       present, not shown\n`);
    const document = readDocument(await runAgainst(box, ['provider', 'get', '--json']));
    expect(document).toEqual({ schema_version: 1, baseUrl, source: 'stored', hasKey: true });
  });

  it.each([
    [{ ok: true, call: 'models', status: 200, ms: 12, problem: null }, 0, 'It works'],
    [{ ok: false, call: 'chat', status: 401, ms: 12, problem: 'The provider refused the key.' }, 1, 'refused the key'],
  ])('calls the provider once: %j ends with %i', async (body, exitCode, text) => {
    const box = await startBox({ 'POST /api/model-provider/test': { body } });
    const result = await runAgainst(box, ['provider', 'test', '--model', 'vendor/m']);
    expect([result.exitCode, JSON.parse(box.seen[0]?.body ?? '')]).toEqual([exitCode, { model: 'vendor/m' }]);
    expect(result.stdout).toContain(text);
  });
});

describe('svc config set', () => {
  const set = async (type: object, text: string) => {
    const box = await startBox({
      'GET /api/config/k': { body: { key: 'k', type } },
      'PUT /api/config/k': { body: { key: 'k', value: 1, revision: 1 } },
    });
    const result = await runAgainst(box, ['config', 'set', 'k', text, '--json']);
    const sent = box.seen.at(-1);
    return sent?.line.startsWith('PUT') ? (JSON.parse(sent.body) as { value: unknown }).value : readError(result).code;
  };
  it.each([
    [{ type: 'string' }, '5', '5'],
    [{ type: 'string' }, 'Hello there', 'Hello there'],
    [{ type: 'number' }, '5', 5],
    [{ type: 'number' }, 'many', 'invalid_json'],
    [{ type: 'object' }, '{"a":[1]}', { a: [1] }],
    [{ enum: ['slow', 'fast'] }, 'fast', 'fast'],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'null', null],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'text', 'text'],
    [{}, 'text', 'text'],
  ])('of type %j reads %s', async (type, text, expected) => {
    expect(await set(type, text)).toEqual(expected);
  });
});

describe('svc keys create', () => {
  const items = ['agent', 'workflow'].map((kind) => ({ kind, name: kind === 'agent' ? 'support' : 'refund' }));
  const routes = {
    'GET /api/catalog': { body: { items } },
    'POST /api/keys': { status: 201, body: { id: 'k', name: 'ci', value: 'svc_1' } },
  };

  it('grants by name, or everything, until a time', async () => {
    const box = await startBox(routes);
    const argv = ['keys', 'create', '--name', 'ci', '--agents', 'a, b', '--workflows', 'all', '--expires-in', '30d'];
    const { stdout } = await runAgainst(box, argv);
    const sent = JSON.parse(box.seen.at(-1)?.body ?? '') as { expiresAt: string };
    expect(sent).toMatchObject({ name: 'ci', grants: { agents: ['a', 'b'], workflows: 'all' } });
    expect(Math.round((Date.parse(sent.expiresAt) - Date.now()) / 86_400_000)).toBe(30);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('svc_1');
  });

  it('is warned of a name the box has not got, and makes the key', async () => {
    const box = await startBox(routes);
    const argv = ['keys', 'create', '--name', 'ci', '--agents', 'support,refund', '--workflows', 'refund,nobody'];
    const { stdout, stderr, exitCode } = await runAgainst(box, argv);
    expect(stderr.match(/^warning: .*$/gm)).toEqual([
      'warning: the box has no agent "refund"; the key is valid for it once there is one.',
      'warning: the box has no workflow "nobody"; the key is valid for it once there is one.',
    ]);
    expect([exitCode, stdout.trimEnd().split('\n').at(-1)]).toEqual([0, 'svc_1']);
  });

  it('says nothing where the box does not say what it has', async () => {
    const box = await startBox({ ...routes, 'GET /api/catalog': failure(403, 'forbidden', 'No.') });
    const { stderr, exitCode } = await runAgainst(box, ['keys', 'create', '--name', 'ci', '--agents', 'nobody']);
    expect([exitCode, stderr]).toEqual([0, 'It is not shown again.\n']);
  });

  it.each([
    [[], 'The key would open nothing.'],
    [['--agents', 'all,b'], '--agents does not take "all,b".'],
    [['--agents', ','], '--agents does not take ",".'],
    [['--workflows', 'all', '--expires-in', 'soon'], '--expires-in does not take "soon".'],
    [['--workflows', 'all', '--expires-in', '0d'], '--expires-in does not take "0d".'],
  ])('%j: %s', async (flags, message) => {
    const box = await startBox({});
    const result = await runAgainst(box, ['keys', 'create', '--name', 'ci', ...flags, '--json']);
    expect([readError(result).message, box.seen]).toEqual([message, []]);
  });
});

describe('svc logs tail', () => {
  const record = (id: number) => ({ id, at: '2026-01-31T12:00:00.000Z', level: 'warn', message: `line ${id}` });
  const frame = (id: number) => `id: ${id}\nevent: log\ndata: ${JSON.stringify(record(id))}\n\n`;
  const END = 'event: end\ndata: {}\n\n';

  it('prints one record a line with --json, and ends with the line that says so', async () => {
    const { url } = await startStream([`retry: 5\n\n: keep-alive\n\n${frame(1)}${frame(2)}${END}`]);
    const { stdout, exitCode } = await runCli(['logs', 'tail', '--json'], { cwd: await makeProject(url) });
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toEqual([
      { type: 'log', ...record(1) },
      { type: 'log', ...record(2) },
      { type: 'end', schema_version: 1 },
    ]);
    expect(exitCode).toBe(0);
  });

  it('connects again behind the last record it has', async () => {
    const { url, seen } = await startStream([`retry: 1\n\n${frame(1)}`, `${frame(2)}${END}`]);
    const { stdout } = await runCli(['logs', 'tail'], { cwd: await makeProject(url) });
    expect(stdout.match(/line \d/g)).toEqual(['line 1', 'line 2']);
    expect(seen).toEqual([
      { line: '/api/logs/tail', last: undefined },
      { line: '/api/logs/tail', last: '1' },
    ]);
  });

  it('with --run is the log of that run', async () => {
    const { url, seen } = await startStream([END]);
    const cwd = await makeProject(url);
    await runCli(['logs', 'tail', '--run', 'r1', '--level', 'warn'], { cwd });
    expect(seen[0]?.line).toBe('/api/runs/r1/logs/stream?level=warn');
    const both = await runCli(['logs', 'tail', '--run', 'r1', '--name', 'greet', '--json'], { cwd });
    expect(readError(both).message).toContain('--run and --name');
  });

  it('ends with 130 when the person presses Ctrl-C, and the last line of --json still says end', async () => {
    const { url } = await startStream([frame(1)], { stays: true });
    const controller = new AbortController();
    const result = await runCli(['logs', 'tail', '--json'], {
      cwd: await makeProject(url),
      signal: controller.signal,
      onStdout: () => controller.abort(),
    });
    expect(result.exitCode).toBe(130);
    expect(result.stdout.trimEnd().split('\n').at(-1)).toBe('{"type":"end","schema_version":1}');
  });

  it('is a failure like any other when the box refuses it', async () => {
    const box = await startBox({
      'GET /api/runs/x/logs/stream': failure(404, 'run_not_found', 'There is no run "x".'),
    });
    const result = await runAgainst(box, ['logs', 'tail', '--run', 'x', '--json']);
    expect([readError(result).code, result.exitCode]).toEqual(['run_not_found', 4]);
  });

  it('colours the level on a terminal', async () => {
    const { url } = await startStream([`${frame(1)}${END}`]);
    const { stdout } = await runCli(['logs', 'tail'], { cwd: await makeProject(url), env: UTF8, tty: true });
    expect(stdout).toContain('\u001B[33mwarn \u001B[39m');
  });
});

// --- internal ---

type Headers = Record<string, string | string[] | undefined>;

async function serve(answer: (response: ServerResponse, headers: Headers, url: string) => void): Promise<string> {
  const server = createServer((request, response) => {
    // What every command asks first, to know whose box it is.
    if (request.url === '/.svc/workspace') response.writeHead(404).end('{}');
    else answer(response, request.headers, request.url ?? '');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  countMadeUp();
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function startPages(pages: string[][]): Promise<{ url: string; lines: string[] }> {
  const lines: string[] = [];
  const url = await serve((response, _, path) => {
    lines.push(`GET ${path}`);
    const at = lines.length;
    const items = (pages[at - 1] ?? []).map((name) => ({ name }));
    response.end(JSON.stringify({ items, nextCursor: at < pages.length ? `c${at}` : null }));
  });
  return { url, lines };
}

interface StreamSeen {
  line: string;
  last: string | string[] | undefined;
}

/** One connection after the other gets the next text, and is closed behind it. */
async function startStream(texts: string[], { stays = false } = {}): Promise<{ url: string; seen: StreamSeen[] }> {
  const seen: StreamSeen[] = [];
  const url = await serve((response, headers, path) => {
    seen.push({ line: path, last: headers['last-event-id'] });
    response.setHeader('content-type', 'text/event-stream');
    const text = texts[seen.length - 1] ?? '';
    if (stays) response.write(text);
    else response.end(text);
  });
  return { url, seen };
}
