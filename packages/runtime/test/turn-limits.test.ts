import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { finish, json, setupBoxes, startProvider, toModelStream } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const MESSAGE = /^The model's answer takes \d{7} bytes, and at most 1048576 are kept of one\. Ask for .*\.$/;

/** A box whose model answers with this much, at once. */
async function open(content: string, more: object = {}) {
  const provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(toModelStream([{ content }]));
  });
  const agents = { helper: defineDeepAgent({ name: 'helper', ...more }) };
  return boxes.open({ agents, provider: { baseUrl: provider.url } });
}

const messages = [{ role: 'user', content: 'go' }];
const post = async (box: TestBox, path: string, body: object, headers = {}) => {
  const answer = await box.request(path, json(body, { headers: { authorization: 'Bearer dev', ...headers } }));
  return { status: answer.status, retry: answer.headers.get('x-should-retry'), text: await answer.text() };
};
const askWireA = (box: TestBox, more: object = {}, headers = {}) =>
  post(box, '/wire-a/v1/chat/completions', { model: 'helper', messages, ...more }, headers);

async function findRun(box: TestBox) {
  const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
  return finish(box, run?.runId ?? '');
}

describe('an answer of the model that is too large to be kept', () => {
  const large = 'x'.repeat(1_100_000);

  test('is reported as that by the run', async () => {
    const box = await open(large);
    await askWireA(box);
    expect(await findRun(box)).toMatchObject({
      status: 'failed',
      error: { code: 'result_too_large', message: expect.stringMatching(MESSAGE) },
    });
  });

  test('is reported on wire-a, whole and streamed, and under its key again', async () => {
    const box = await open(large);
    const key = { 'idempotency-key': 'k' };
    for (const headers of [{}, key, key]) {
      const { status, retry, text } = await askWireA(box, {}, headers);
      expect([status, retry]).toEqual([502, 'false']);
      expect(JSON.parse(text)).toMatchObject({
        error: { code: 'result_too_large', message: expect.stringMatching(MESSAGE) },
      });
    }
    expect((await askWireA(box, { stream: true })).text.slice(1_000_000)).toContain('"code":"result_too_large"');
  });

  test('is reported on wire-b', async () => {
    const box = await open(large);
    const { status, retry, text } = await post(box, '/wire-b/v1/messages', {
      model: 'helper',
      max_tokens: 9,
      messages,
    });
    expect([status, retry]).toEqual([502, 'false']);
    expect((JSON.parse(text) as { error: object }).error).toMatchObject({ message: expect.stringMatching(MESSAGE) });
  });

  test('is reported over AG-UI', async () => {
    const box = await open(large);
    const asked = { threadId: 't', runId: 'r', messages: [{ id: 'm', ...messages[0] }] };
    const { text } = await post(box, '/agui/v1/agents/helper', asked);
    const end = JSON.parse(text.trim().split('data: ').at(-1) ?? '') as { message: string };
    expect(end).toMatchObject({ type: 'RUN_ERROR', code: 'result_too_large' });
    expect(end.message).toMatch(MESSAGE);
  });

  test('is one that fits alone, and not with what its schema reads in it', async () => {
    const box = await open(JSON.stringify({ text: 'x'.repeat(600_000) }), { output: z.object({ text: z.string() }) });
    const { status, text } = await askWireA(box);
    expect(status).toBe(502);
    expect((JSON.parse(text) as { error: { message: string } }).error.message).toMatch(MESSAGE);
  });

  test('is not one of just below 1 MiB', async () => {
    const box = await open('x'.repeat(1_040_000));
    expect((await askWireA(box)).status).toBe(200);
  });
});
