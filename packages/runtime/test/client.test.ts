import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { OPERATIONS } from '../src/surface/index.ts';
import type { Operation } from '../src/operations/define.ts';
import { ClientError, createClient } from '../src/client.ts';
import type { AgentEvent } from '../src/client.ts';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { continueAsNew } from '../src/engine/primitives/continue-as-new.ts';
import { setupBoxes, until } from './_setup.ts';
import type { TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();

const PROGRAM = {
  workflows: {
    echo: { run: async (input: unknown) => input, inputSchema: z.object({ text: z.string() }) },
    ask: { run: async () => requestApproval({ title: 'Go on?' }) },
  },
};

const add = defineTool({
  description: 'Add.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});
const pay = defineTool({
  description: 'Pay.',
  inputSchema: z.object({ amount: z.number() }),
  execute: ({ amount }) => `paid ${amount}`,
});

const NAMED = {
  agents: {
    helper: defineDeepAgent({ name: 'helper', instructions: 'Help.', tools: { add, pay }, interruptOn: { pay: true } }),
  },
  workflows: {
    ...PROGRAM.workflows,
    fail: { run: async () => Promise.reject(new Error('No luck.')) },
    alone: { run: async () => requestApproval({ title: 'Go on?' }), serial: true },
    count: { run: async (n: number) => (n === 0 ? 'counted' : continueAsNew(n - 1)) },
  },
};

async function open(options: TestBoxOptions['options'] = {}, token?: string) {
  const box = await boxes.open({ ...PROGRAM, options });
  const baseUrl = await box.listen();
  return createClient({ baseUrl, ...(token === undefined ? {} : { token }) });
}

describe('the typed client', () => {
  test('starts a workflow, reads its run and the list it is in', async () => {
    const client = await open();
    const started = await client.call('workflows.start', { name: 'echo', input: { text: 'a/b ä' } });
    if (started.status === 'queued') throw new Error('It is not queued.');
    const run = await client.call('runs.get', { id: started.runId, wait: '20s' });
    expect(run).toMatchObject({ status: 'completed', output: { text: 'a/b ä' } });
    const { items } = await client.call('runs.list', { name: 'echo', limit: 1 });
    expect(items.map(({ runId }) => runId)).toEqual([started.runId]);
    expect((await client.call('contract.get')).version).toBeGreaterThan(0);
  });

  test('says which operations there are when it is asked for another', async () => {
    const client = await open();
    await expect(client.call('runs.logs.stream' as 'runs.list')).rejects.toThrow(
      'There is no operation "runs.logs.stream". Similar ones: runs.logs_stream, ',
    );
    await expect(client.call('zzz' as 'runs.list')).rejects.toThrow(/^There is no operation "zzz"\.$/);
  });

  test('says what is missing before it asks', async () => {
    const client = await open();
    await expect(client.call('runs.get', { runId: 'r1' } as never)).rejects.toThrow(
      'The operation "runs.get" needs "id", a part of its path: GET /api/runs/:id.',
    );
    expect(() => createClient({ url: 'http://127.0.0.1:4242' } as never)).toThrow(
      '"baseUrl" of createClient is missing. Give the address of the box, such as http://127.0.0.1:4242.',
    );
    expect(() => createClient({ baseUrl: '127.0.0.1:4242' })).toThrow('"baseUrl" of createClient is "127.0.0.1:4242".');
  });

  test('sends what is a header as one', async () => {
    const client = await open();
    const start = (text: string) =>
      client.call('workflows.start', { name: 'echo', input: { text }, idempotencyKey: 'once' });
    expect(await start('a')).toEqual(await start('a'));
    await expect(start('b')).rejects.toMatchObject({ code: 'idempotency_conflict', status: 409 });
  });

  test('writes a name as the path has it', async () => {
    const client = await open();
    const error = await client.call('runs.get', { id: 'a/b?c=ü' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ClientError);
    expect(error).toMatchObject({ code: 'run_not_found', status: 404, requestId: expect.stringMatching(/^req_/) });
    expect(String(error)).toContain('"a/b?c=ü"');
  });

  test('says what of the input is wrong', async () => {
    const client = await open();
    const wrong = client.call('workflows.start', { name: 'echo', input: { text: 7 } });
    await expect(wrong).rejects.toMatchObject({ code: 'workflow_input_invalid', details: expect.any(Object) });
  });

  test('carries a token', async () => {
    const box = await boxes.open(PROGRAM);
    const admin = createClient({ baseUrl: await box.listen() });
    const { value } = await admin.call('keys.create', { name: 'k', grants: { agents: [], workflows: ['echo'] } });
    const closed = await open({ host: 'image' }, value);
    expect(await closed.call('workflows.start', { name: 'echo', input: { text: 'x' } })).toMatchObject({
      status: 'started',
    });
    const nobody = await open({ host: 'image' });
    await expect(nobody.call('runs.list')).rejects.toMatchObject({ status: 401, code: 'unauthorized' });
  });

  test('follows a stream until it is left', async () => {
    const client = await open();
    const left = new AbortController();
    onTestFinished(() => left.abort());
    const seen: string[] = [];
    const reading = (async () => {
      for await (const frame of client.stream('events.stream', {}, { signal: left.signal })) {
        if (frame.event === 'run.ended') seen.push(`${frame.data.name} ${frame.data.status}`);
      }
    })();
    let isStarted = false;
    await until(async () => {
      if (!isStarted) await client.call('workflows.start', { name: 'echo', input: { text: 'x' } });
      isStarted = seen.length > 0;
      return seen.includes('echo completed');
    });
    left.abort();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
  });
});

test.each([1, 2, 3, 7, 1_000])('reads a stream that comes in pieces of %i bytes', async (size) => {
  const frames =
    'retry: 2000\n\nid: 1\nevent: log\ndata: {"message":"Grüße"}\n\n: keep-alive\n\nevent: reset\ndata: {}\n\nid: 9\n\n';
  const bytes = new TextEncoder().encode(frames);
  const body = new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size));
      controller.close();
    },
  });
  const client = createClient({ baseUrl: 'http://box', fetch: async () => new Response(body) });
  const seen: unknown[] = [];
  for await (const frame of client.stream('logs.tail')) seen.push(frame);
  expect(seen).toEqual([
    { id: '1', event: 'log', data: { message: 'Grüße' } },
    { event: 'reset', data: {} },
  ]);
});

describe('a workflow by its name', () => {
  const openNamed = async (key = false) => {
    const box = await boxes.open(NAMED);
    const baseUrl = await box.listen();
    const admin = createClient({ baseUrl });
    if (!key) return { box, client: admin, baseUrl };
    const grants = { agents: [], workflows: Object.keys(NAMED.workflows) };
    const { value: token } = await admin.call('keys.create', { name: 'k', grants });
    const image = await boxes.open({ ...NAMED, options: { host: 'image' } });
    return { box: image, client: createClient({ baseUrl: await image.listen(), token }), baseUrl };
  };

  test.each([false, true])('is started, and its run awaited (with an API key: %s)', async (key) => {
    const { client } = await openNamed(key);
    const run = await client.workflow('echo').start({ text: 'a' }, { id: 'once' });
    expect(await run.result()).toEqual({ text: 'a' });
    expect(await run.get()).toMatchObject({ runId: run.runId, status: 'completed', name: 'echo' });
    expect(await client.workflow('echo').run(String(run.runId)).result()).toEqual({ text: 'a' });
    await expect(client.workflow('echo').start({ text: 7 })).rejects.toMatchObject({ code: 'workflow_input_invalid' });
    await expect(client.workflow('nope').start({})).rejects.toMatchObject({ name: 'ClientError' });
  });

  test('throws what ended its run, that it was cancelled, and that it has not ended in time', async () => {
    const { client } = await openNamed(true);
    const failed = await client.workflow('fail').start({});
    await expect(failed.result()).rejects.toMatchObject({
      name: 'ClientRunError',
      code: 'run_failed',
      message: 'No luck.',
      runId: failed.runId,
    });
    const waiting = await client.workflow('ask').start();
    await expect(waiting.result({ timeout: 50 })).rejects.toMatchObject({
      code: 'run_not_final',
      runId: waiting.runId,
    });
    await waiting.cancel();
    await expect(waiting.result()).rejects.toMatchObject({ code: 'run_cancelled' });
    const left = new AbortController();
    const awaited = (await client.workflow('ask').start()).result({ signal: left.signal });
    left.abort();
    await expect(awaited).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('that is queued becomes a run, or is taken out of its queue', async () => {
    const { client } = await openNamed(true);
    const first = await client.workflow('alone').start({});
    const second = await client.workflow('alone').start({});
    const third = await client.workflow('alone').start({});
    expect([second.runId, await second.get()]).toEqual([undefined, undefined]);
    await third.cancel();
    await expect(third.result()).rejects.toMatchObject({ code: 'run_cancelled' });
    await first.cancel();
    await expect(second.result({ timeout: 3_000 })).rejects.toMatchObject({ code: 'run_not_final' });
    expect(second.runId).toMatch(/^[\da-f-]{36}$/);
  });

  test('is awaited over a box that is away for a while, and over a run that continues as another', async () => {
    const { baseUrl } = await openNamed();
    let away = 0;
    const client = createClient({
      baseUrl,
      fetch: async (request) => {
        if (!request.url.includes('/api/runs/') || away++ > 1) return fetch(request);
        if (away === 1) throw new TypeError('fetch failed');
        return Response.json({ code: 'shutting_down', message: 'The box shuts down.' }, { status: 503 });
      },
    });
    expect(await (await client.workflow('count').start(3)).result()).toBe('counted');
    expect(away).toBeGreaterThan(2);
  });
});

describe('an agent by its name', () => {
  const openAgent = async (more: object = {}) => {
    const box = await boxes.open(NAMED);
    const baseUrl = await box.listen();
    return { box, baseUrl, client: createClient({ baseUrl, token: 'dev', ...more }) };
  };

  test('answers in a session, which goes on', async () => {
    const { box, client } = await openAgent({ headers: { 'x-svc-user': 'ada' } });
    const session = client.agent('helper').session('main');
    const turn = await session.send('reason:Hm.; say:{"n":1}', { parameters: { temperature: 0 } });
    expect(turn).toMatchObject({ text: '{"n":1}', reasoning: 'Hm.', finishReason: 'stop', interrupts: [] });
    expect(turn.usage).toMatchObject([{ model: 'test/scripted', totalTokens: expect.any(Number) }]);
    expect(turn.json()).toEqual({ n: 1 });
    await session.send('say:two');
    expect(box.model.requests.at(-1)?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'user',
    ]);
    const run = await client.call('runs.get', { id: turn.runId });
    expect(run).toMatchObject({ name: 'helper', startedBy: { user: { id: 'ada' } } });
    expect(client.agent('helper').session().id).not.toBe(client.agent('helper').session().id);
  });

  test('streams what it says, and its calls', async () => {
    const { client } = await openAgent();
    const types: string[] = [];
    const tools: string[] = [];
    let text = '';
    for await (const event of client.agent('helper').session().stream('tool:add {"a":1,"b":2}')) {
      types.push(event.type);
      if (event.type === 'TEXT_MESSAGE_CONTENT') text += event.delta;
      if (event.type === 'TOOL_CALL_START') tools.push(event.toolCallName);
    }
    expect([text, tools]).toEqual(['The tool answered: 3', ['add']]);
    expect([types[0], types.at(-1)]).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
  });

  test('waits for a decision, and goes on with it', async () => {
    const { client } = await openAgent();
    const session = client.agent('helper').session('pays');
    const turn = await session.send('tool:pay {"amount":5}');
    expect(turn).toMatchObject({
      finishReason: 'interrupt',
      interrupts: [{ message: expect.stringContaining('pay') }],
    });
    const [{ id = '' } = {}] = turn.interrupts;
    const after = await session.decide([{ id, decision: 'edit', input: { amount: 4 } }]);
    expect(after).toMatchObject({ text: 'The tool answered: paid 4', finishReason: 'stop', interrupts: [] });
  });

  test('goes on with the same turn when the connection breaks off', async () => {
    let attempts = 0;
    const { box, client } = await openAgent({
      fetch: async (request: Request) => {
        const response = await fetch(request);
        if (++attempts > 1) return response;
        const reader = response.body?.getReader();
        await reader?.read();
        const broken = new ReadableStream({ start: (controller) => controller.error(new TypeError('terminated')) });
        return new Response(broken, { headers: response.headers });
      },
    });
    const before = box.model.requests.length;
    expect((await client.agent('helper').session().send('say:once')).text).toBe('once');
    expect([attempts, box.model.requests.length - before]).toEqual([2, 1]);
  });

  /** The first connections break off once they have brought so many characters. */
  const cutAfter = (...characters: number[]) => {
    const cuts = [...characters];
    const requests: number[] = [];
    const cutting = async (request: Request): Promise<Response> => {
      const response = await fetch(request);
      requests.push(performance.now());
      const most = cuts.shift();
      if (most === undefined || !response.body) return response;
      let size = 0;
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform(bytes, controller) {
          size += bytes.length;
          if (size > most) controller.error(new TypeError('terminated'));
          else controller.enqueue(bytes);
        },
      });
      return new Response(response.body.pipeThrough(cut), { headers: response.headers });
    };
    return { fetch: cutting, requests };
  };

  test('goes on with its stream in mid-answer when the connection breaks off, and says nothing twice', async () => {
    const { fetch: cutting, requests } = cutAfter(1_200, 2_400);
    const { box, client } = await openAgent({ fetch: cutting });
    const words = Array.from({ length: 40 }, (_, n) => `w${n}`).join(' ');
    const before = box.model.requests.length;
    const events: AgentEvent[] = [];
    let liveAt = 0;
    const said = `tool:add {"a":1,"b":2}; delay:60; reason:Hm, hm; say:${words}`;
    for await (const event of client.agent('helper').session('long').stream(said)) {
      events.push(event);
      if (requests.length === 3 && event.type === 'TEXT_MESSAGE_CONTENT') liveAt += 1;
    }
    const joined = (type: string) =>
      events.flatMap((event) => (event.type === type && 'delta' in event ? event.delta : [])).join('');
    expect([joined('TEXT_MESSAGE_CONTENT'), joined('TOOL_CALL_ARGS')]).toEqual([words, '{"a":1,"b":2}']);
    expect([requests.length, box.model.requests.length - before]).toEqual([3, 2]);
    // As it is said, and not all at its end.
    expect(liveAt).toBeGreaterThan(3);
    const once = events.map(({ type }) => type).filter((type) => !/CONTENT|ARGS|STEP|STATE/.test(type));
    expect(once.filter((type) => !type.startsWith('REASONING'))).toEqual([
      'RUN_STARTED',
      'TOOL_CALL_START',
      'TOOL_CALL_END',
      'TOOL_CALL_RESULT',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ]);
    expect(events.at(-1)).toMatchObject({ usage: [{ totalTokens: expect.any(Number) }] });
  });

  test('goes on with its stream at another replica, which has the rest once the turn has ended', async () => {
    const { fetch: cutting, requests } = cutAfter(1_200);
    const box = await boxes.open(NAMED);
    const other = await boxes.open({ ...NAMED, journalPath: box.journalPath });
    const urls = [await box.listen(), await other.listen()];
    const atBoth = async (request: Request) =>
      cutting(
        requests.length === 0 ? request : new Request(request.url.replace(urls[0] ?? '', urls[1] ?? ''), request),
      );
    const client = createClient({ baseUrl: urls[0] ?? '', token: 'dev', fetch: atBoth });
    const words = Array.from({ length: 30 }, (_, n) => `w${n}`).join(' ');
    let text = '';
    for await (const event of client
      .agent('helper')
      .session('both')
      .stream(`tool:add {"a":1,"b":2}; delay:40; say:${words}`))
      if (event.type === 'TEXT_MESSAGE_CONTENT') text += event.delta;
    expect([text, requests.length]).toEqual([words, 2]);
  });

  test('starts a text over that the next process of the box says in other words', async () => {
    const start = { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' };
    const content = (delta: string) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta });
    const end = { type: 'TEXT_MESSAGE_END', messageId: 'm' };
    const run = { type: 'RUN_STARTED', threadId: 't', runId: 'r', protocolVersion: '1.0' };
    const finished = { type: 'RUN_FINISHED', threadId: 't', runId: 'r', outcome: { type: 'success' } };
    const shut = { type: 'RUN_ERROR', code: 'shutting_down', message: 'The box shuts down.' };
    const connections = [
      [run, start, content('The cat'), end, shut],
      [run, start, content('The '), content('dog'), content(' sat'), end, finished],
    ];
    const keys = new Set<string | null>();
    const answer = async ({ headers }: Request) => {
      keys.add(headers.get('idempotency-key'));
      return new Response((connections.shift() ?? []).map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
    };
    const events: unknown[] = [];
    const client = createClient({ baseUrl: 'http://box', fetch: answer });
    for await (const event of client.agent('helper').session().stream('x')) events.push(event);
    expect(events).toEqual([
      run,
      start,
      content('The cat'),
      end,
      start,
      content('The dog'),
      content(' sat'),
      end,
      finished,
    ]);
    expect(keys.size).toBe(1);
  });

  test('has the answer to a decision when the connection breaks off under it', async () => {
    const { baseUrl, client } = await openAgent();
    const turn = await client.agent('helper').session('cut').send('tool:pay {"amount":5}');
    const again = createClient({ baseUrl, token: 'dev', fetch: cutAfter(300).fetch });
    const [{ id = '' } = {}] = turn.interrupts;
    const after = await again
      .agent('helper')
      .session('cut')
      .decide([{ id, decision: 'approve' }]);
    expect(after).toMatchObject({ text: 'The tool answered: paid 5', finishReason: 'stop' });
  });

  test('throws what the box refuses, and what ends its turn', async () => {
    const { client } = await openAgent();
    await expect(client.agent('nobody').session().send('x')).rejects.toMatchObject({
      name: 'ClientError',
      code: 'agent_not_found',
      status: 404,
    });
    await expect(client.agent('helper').session().send('error:400')).rejects.toMatchObject({
      name: 'ClientRunError',
      code: 'model_provider_failed',
      runId: expect.any(String),
    });
  });
});

test('knows the route of every operation', async () => {
  // Run with -u after a change of the list.
  await expect(toRoutesFile(OPERATIONS)).toMatchFileSnapshot('../../client/src/routes.ts');
});

// --- internal ---

/** As the formatter has it. */
function toHeaders(pairs: string[]): string {
  const line = `headers: { ${pairs.join(', ')} }`;
  return line.length <= 115 ? line : `headers: {\n${pairs.map((pair) => `      ${pair},\n`).join('')}    }`;
}

function toRoutesFile(operations: readonly Operation[]): string {
  const rows = operations.map(({ id, route, headers, body, file }) => {
    const pairs = Object.entries(headers ?? {}).map(([header, name]) => `${quote(header)}: ${quote(name)}`);
    const members = [
      `route: ${quote(route)}`,
      ...(pairs.length > 0 ? [toHeaders(pairs)] : []),
      ...(body === undefined ? [] : [`body: ${quote(body)}`]),
      ...(file === undefined ? [] : [`file: ${quote(file.member)}`]),
    ];
    const row = `  ${quote(id)}: { ${members.join(', ')} },`;
    // As the formatter has it.
    return row.length <= 120 ? row : `  ${quote(id)}: {\n${members.map((member) => `    ${member},\n`).join('')}  },`;
  });
  return `// Written by the test of the client from the list of operations: vitest run packages/runtime/test/client.test.ts -u

export interface ClientRoute {
  route: string;
  /** Header to the member of the input that it carries. */
  headers?: Record<string, string>;
  /** The member that is the whole body. */
  body?: string;
  /** The member that is a file, and the body. */
  file?: string;
}

/** Where each operation is. A table of its own, so that a client has nothing of the box in it. */
export const ROUTES = {
${rows.join('\n')}
} as const satisfies Record<string, ClientRoute>;
`;
}

function quote(text: string): string {
  return `'${text}'`;
}
