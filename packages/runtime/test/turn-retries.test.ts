import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/index.ts';
import { setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

/** Fails at the second call of the model, the first time. */
const SCRIPT = 'tool:pay {"n":1}; error:400 once; say:done';

async function openPayer() {
  const paid: number[] = [];
  const pay = defineTool({
    description: 'Pays.',
    inputSchema: z.object({ n: z.number() }),
    execute: ({ n }) => {
      paid.push(n);
      return { paid: n };
    },
  });
  const box = await boxes.open({
    agents: { payer: defineDeepAgent({ name: 'payer', instructions: '', tools: { pay } }) },
  });
  return { box, paid };
}

function ask(box: TestBox, content: string, session?: string): Promise<Response> {
  return box.request('/wire-a/v1/chat/completions', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer k',
      ...(session === undefined ? {} : { 'x-svc-session': session }),
    },
    body: JSON.stringify({ model: 'payer', messages: [{ role: 'user', content }] }),
  });
}

async function failTurn(box: TestBox, session?: string): Promise<string> {
  await (await ask(box, SCRIPT, session)).text();
  const find = async () => (await box.journal.listRuns({ kind: 'agent', status: 'failed' }, { limit: 1 }))[0];
  await until(async () => (await find()) !== undefined);
  return (await find())?.runId ?? '';
}

async function retry(box: TestBox, runId: string, body: object = {}) {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await box.request(`/api/runs/${runId}/retry`, init);
  return { status: answer.status, body: (await answer.json()) as Record<string, string> };
}

async function finish(box: TestBox, runId: string) {
  const run = await box.engine.wait(runId, 10_000);
  return (await (await box.request(`/api/runs/${run?.runId}`)).json()) as Record<string, unknown>;
}

describe('the retry of a turn that failed', () => {
  test('keeps what its tools have done, and its session has the whole turn', async () => {
    const { box, paid } = await openPayer();
    const failed = await failTurn(box, 'a');
    const { status, body } = await retry(box, failed);
    expect({ status, body }).toMatchObject({ status: 202, body: { status: 'started', workflowName: 'payer' } });
    expect(await finish(box, body.runId ?? '')).toMatchObject({
      status: 'completed',
      retryOf: failed,
      trigger: 'retry',
      kind: 'agent',
    });
    expect(paid).toEqual([1]);
    await (await ask(box, 'say:after', 'a')).text();
    const { messages } = box.model.requests.at(-1) ?? { messages: [] };
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  });

  test('from the start, it runs its tools again', async () => {
    const { box, paid } = await openPayer();
    const { body } = await retry(box, await failTurn(box, 'b'), { from: 'start' });
    // The script fails again: it knows a conversation by the ids of its calls, which are new.
    expect(await finish(box, body.runId ?? '')).toMatchObject({ status: 'failed', trigger: 'retry' });
    expect(paid).toEqual([1, 1]);
  });

  test('without a session its answer is in its run, also when the box is restarted meanwhile', async () => {
    const { box, paid } = await openPayer();
    const { body } = await retry(box, await failTurn(box));
    const next = await box.restart();
    expect(await finish(next, body.runId ?? '')).toMatchObject({ status: 'completed' });
    expect(paid).toEqual([1]);
  });

  test('is refused once the turn has answered, or its session has gone on', async () => {
    const { box } = await openPayer();
    const failed = await failTurn(box, 'c');
    await (await ask(box, 'say:on', 'c')).text();
    await until(async () => (await box.journal.listRuns({ status: 'completed' }, { limit: 1 })).length > 0);
    const [last] = await box.journal.listRuns({ status: 'completed' }, { limit: 1 });
    const gone = await retry(box, failed);
    expect(gone).toMatchObject({ status: 409, body: { code: 'run_not_retryable' } });
    expect(gone.body.message).toContain(last?.runId);
    const answered = await retry(box, last?.runId ?? '');
    expect(answered).toMatchObject({ status: 409, body: { code: 'run_not_retryable' } });
  });
});
