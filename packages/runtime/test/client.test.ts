import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { OPERATIONS } from '../src/surface/index.ts';
import type { Operation } from '../src/operations/define.ts';
import { ClientError, createClient } from '../src/client.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { setupBoxes, until } from './_setup.ts';
import type { TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();

const PROGRAM = {
  workflows: {
    echo: { run: async (input: unknown) => input, inputSchema: z.object({ text: z.string() }) },
    ask: { run: async () => requestApproval({ title: 'Go on?' }) },
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
      for await (const { event, data } of client.stream('events.stream', {}, { signal: left.signal }))
        seen.push(`${event} ${data}`);
    })();
    let isStarted = false;
    await until(async () => {
      if (!isStarted) await client.call('workflows.start', { name: 'echo', input: { text: 'x' } });
      isStarted = seen.length > 0;
      return seen.some((line) => line.includes('run.'));
    });
    left.abort();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
  });
});

test('knows the route of every operation', async () => {
  // Run with -u after a change of the list.
  await expect(toRoutesFile(OPERATIONS)).toMatchFileSnapshot('../src/client-routes.ts');
});

// --- internal ---

/** As the formatter has it. */
function toHeaders(pairs: string[]): string {
  const line = `headers: { ${pairs.join(', ')} }`;
  return line.length <= 115 ? line : `headers: {\n${pairs.map((pair) => `      ${pair},\n`).join('')}    }`;
}

function toRoutesFile(operations: readonly Operation[]): string {
  const rows = operations.map(({ id, route, headers, body }) => {
    const pairs = Object.entries(headers ?? {}).map(([header, name]) => `${quote(header)}: ${quote(name)}`);
    const members = [
      `route: ${quote(route)}`,
      ...(pairs.length > 0 ? [toHeaders(pairs)] : []),
      ...(body === undefined ? [] : [`body: ${quote(body)}`]),
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
