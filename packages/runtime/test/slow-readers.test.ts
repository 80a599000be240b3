import { request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { finish, setupBoxes, startProvider, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

const PART = 'word '.repeat(200);
/** Of one answer: below what is recorded of one. */
const PARTS = 900;
const CALL = { index: 0, id: 'call', type: 'function', function: { name: 'look', arguments: '{}' } };
/** Bytes of each piece that say nothing, so that an answer is more than the buffers of a connection hold. */
const PADDING = ' '.repeat(20_000);

const frame = (delta: object, { reason = null as string | null, padding = '' } = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }], padding })}\n\n`;

/** A provider whose answers are large, each but the last with a call; it writes as fast as it is read. */
async function openLarge(calls: number, padding = PADDING) {
  const seen = { bytes: 0, answers: 0, blockedAt: Infinity };
  const provider = await startProvider(async (response) => {
    const answer = ++seen.answers;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let n = 0; n < PARTS && !response.destroyed; n++)
      await write(response, frame({ content: PART }, { padding }), seen);
    if (answer <= calls) await write(response, frame({ tool_calls: [CALL] }), seen);
    response.end(`${frame({}, { reason: answer <= calls ? 'tool_calls' : 'stop' })}data: [DONE]\n\n`);
  });
  const look = defineTool({ description: 'Looks.', inputSchema: z.object({}), execute: () => 'seen' });
  const box = await boxes.open({
    agents: { helper: defineDeepAgent({ name: 'helper', tools: { look } }) },
    provider: { baseUrl: provider.url },
  });
  return { box, url: await box.listen(), provider, seen };
}

async function write(response: ServerResponse, text: string, seen: { bytes: number; blockedAt: number }) {
  seen.bytes += text.length;
  if (response.write(text)) return;
  seen.blockedAt = performance.now();
  await new Promise<void>((resolve) => {
    const go = () => {
      response.off('drain', go).off('close', go);
      resolve();
    };
    response.on('drain', go).on('close', go);
  });
  seen.blockedAt = Infinity;
}

interface Wire {
  path: string;
  body: object;
}

const messages = [{ role: 'user', content: 'go', id: 'u' }];
const STREAMS: Record<string, Wire> = {
  'wire-a': { path: '/wire-a/v1/chat/completions', body: { model: 'helper', messages, stream: true } },
  'wire-b': { path: '/wire-b/v1/messages', body: { model: 'helper', messages, stream: true, max_tokens: 9 } },
  'AG-UI': { path: '/agui/v1/agents/helper', body: { threadId: 't', runId: 'r', messages } },
};

/** Asks, and reads no more than the head of the answer. */
async function ask(url: string, wire: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const { path, body } = STREAMS[wire] as Wire;
  const fixed = { 'content-type': 'application/json', authorization: 'Bearer dev' };
  const sent = request(`${url}${path}`, { method: 'POST', headers: { ...fixed, ...headers }, agent: false });
  onTestFinished(() => void sent.destroy());
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve);
    sent.on('error', reject);
  });
  sent.end(JSON.stringify(body));
  return answer;
}

/** What the answer brings until this is told. */
async function readOn(answer: IncomingMessage, received: RegExp): Promise<string> {
  let text = '';
  answer.on('error', () => {});
  answer.setEncoding('utf8').on('data', (part: string) => (text += part));
  await until(() => received.test(text.slice(-2_000)), 90_000);
  return text;
}

async function findRun(box: TestBox) {
  const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
  return run;
}

/** The provider has waited for so long that no one can be reading. */
const isBlocked = ({ blockedAt }: { blockedAt: number }) => performance.now() - blockedAt > 1_000;

describe('a client that does not read its stateless turn', () => {
  test.each(['wire-a', 'wire-b'])(
    'over %s holds up the provider, and the turn is cancelled with it',
    async (wire) => {
      const { box, url, provider, seen } = await openLarge(30);
      const answer = await ask(url, wire);
      await until(() => isBlocked(seen), 90_000);
      const { bytes, answers } = seen;
      expect(answers).toBeLessThan(15);
      expect((await findRun(box))?.status).toBe('running');
      answer.destroy();
      await until(() => provider.open() === 0);
      const run = await finish(box, (await findRun(box))?.runId ?? '');
      expect(run).toMatchObject({ status: 'cancelled', error: { code: 'client_gone' } });
      expect(seen.bytes - bytes).toBeLessThan(1_000_000);
      expect(box.logs).toEqual([]);
    },
    180_000,
  );

  test('has all of it, once it reads on', async () => {
    const { box, url, seen } = await openLarge(5);
    const answer = await ask(url, 'wire-a');
    await until(() => isBlocked(seen) || seen.answers === 6, 90_000);
    const text = await readOn(answer, /\[DONE\]/);
    expect(text.split('word ').length - 1).toBe(200 * PARTS * 6);
    expect(await finish(box, (await findRun(box))?.runId ?? '')).toMatchObject({ status: 'completed' });
  }, 180_000);
});

describe('a client that does not read a turn that runs on without it', () => {
  const rows = [
    ['wire-a', { 'x-svc-session': 'of wire-a' }, /"code":"client_too_slow"/],
    ['wire-a', { 'idempotency-key': 'k' }, /"code":"client_too_slow"/],
    ['wire-b', { 'x-svc-session': 'of wire-b' }, /read too slowly/],
    ['AG-UI', {}, /"code":"client_too_slow"/],
  ] as const;
  test.each(rows)(
    'over %s with %j is cut, and the turn ends',
    async (wire, headers, received) => {
      const { box, url, seen } = await openLarge(24, '');
      const answer = await ask(url, wire, headers);
      await until(() => seen.answers === 25, 90_000);
      const run = await finish(box, (await findRun(box))?.runId ?? '');
      expect(run.status).toBe('completed');
      const text = await readOn(answer, received);
      expect(text.length).toBeLessThan(PART.length * PARTS * 20);
    },
    180_000,
  );
});

describe('a provider', () => {
  test('is read no further than what can be recorded of an answer', async () => {
    const seen = { bytes: 0, blockedAt: Infinity };
    const provider = await startProvider(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      while (!response.destroyed) await write(response, frame({ content: PART }, { padding: PADDING }), seen);
    });
    const agents = { helper: defineDeepAgent({ name: 'helper' }) };
    const box = await boxes.open({ agents, provider: { baseUrl: provider.url } });
    const text = await readOn(await ask(await box.listen(), 'wire-a'), /result_too_large/);
    expect(text).toMatch(/The model's answer takes 1\d{6} bytes, and at most 1048576 are kept of one\./);
    await until(() => provider.open() === 0);
    expect(await finish(box, (await findRun(box))?.runId ?? '')).toMatchObject({ error: { code: 'result_too_large' } });
  }, 180_000);

  const endless = [
    ['a line', 'data: '],
    ['an event', 'data: {"choices":[\n'],
    ['a document', '{"choices":['],
  ] as const;
  test.each(endless)(
    'that never ends %s is let go',
    async (_what, begin) => {
      const seen = { bytes: 0, blockedAt: Infinity };
      const provider = await startProvider(async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const more = begin.endsWith('\n') ? `data: ${PADDING}\n`.repeat(10) : PADDING.repeat(10);
        await write(response, begin, seen);
        while (!response.destroyed) await write(response, more, seen);
      });
      const agents = { helper: defineDeepAgent({ name: 'helper' }) };
      const box = await boxes.open({ agents, provider: { baseUrl: provider.url } });
      await readOn(await ask(await box.listen(), 'wire-a'), /more than 16777216 characters in one piece/);
      await until(() => provider.open() === 0);
    },
    180_000,
  );

  test('that fails in the middle of its answer is let go, though it ends nothing', async () => {
    const provider = await startProvider((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`${frame({ content: 'a' })}data: {"error":{"message":"Broken."}}\n\n`);
    });
    const agents = { helper: defineDeepAgent({ name: 'helper' }) };
    const box = await boxes.open({ agents, provider: { baseUrl: provider.url } });
    await readOn(await ask(await box.listen(), 'wire-a'), /Broken\./);
    await until(() => provider.open() === 0);
  });
});
