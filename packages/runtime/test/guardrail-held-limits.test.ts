import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { continueAsNew, defineDeepAgent, defineTool, FatalError } from '../src/index.ts';
import { HttpAgent } from '@ag-ui/client';
import { say, textOf } from './_agui.ts';
import { callTool, connect, MODERN, write } from './_mcp.ts';
import { call, finish, json, setupBoxes, startProvider, toModelStream, until } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();
let names = 0;

interface Approval {
  approvalId: string;
  runId: string;
  sessionId: string | null;
  payload: { said?: string; text?: string; result?: string };
}

/** A box with one agent, of which a rule holds what has this word. */
async function open(side: string, options: TestBoxOptions & { answer?: string; word?: string } = {}) {
  const { answer = '', word = 'falcon', ...more } = options;
  const name = `limits-${++names}`;
  const look = defineTool({ description: 'Looks.', inputSchema: z.object({}), execute: () => answer });
  const box = await boxes.open({ agents: { [name]: defineDeepAgent({ name, tools: { look } }) }, ...more });
  const check = { kind: 'words', words: [word] };
  // As long as a name may be, in letters of which each takes three bytes.
  const given = { name: `${name} `.padEnd(100, '界'), check, sides: [side], attachment: { kind: 'agent', name } };
  const { status, body } = await call<{ name: string }>(box, 'POST /api/guardrails', { ...given, action: 'hold' });
  expect(status).toBe(201);
  return { name, box, rule: body.name };
}

async function ask(box: TestBox, model: string, content: string): Promise<Approval> {
  const headers = { authorization: 'Bearer dev', 'x-svc-session': model };
  const body = { model, messages: [{ role: 'user', content }], stream: true };
  await (await box.request('/wire-a/v1/chat/completions', json(body, { headers }))).text();
  const list = async () =>
    (await call<{ items: Approval[] }>(box, 'GET /api/approvals?status=pending&source=guardrail')).body.items;
  await until(async () => (await list()).length === 1);
  const [one] = await list();
  return (await call<Approval>(box, `GET /api/approvals/${one?.approvalId}`)).body;
}
const decide = (box: TestBox, { approvalId }: Approval, decision: 'approve' | 'reject') =>
  call(box, `POST /api/approvals/${approvalId}/decide`, { decision });

test('a reply near a megabyte that is held at its end waits, and is said whole once it is approved', async () => {
  const said = `${'word '.repeat(140_000)}and a `;
  const provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(toModelStream([{ content: said }, { content: 'falcon.' }]));
  });
  const { box, name } = await open('agent-output', { provider: { baseUrl: provider.url } });
  const held = await ask(box, name, 'Go.');
  expect([held.payload.said?.length, held.payload.text]).toEqual([said.length, 'falcon.']);
  const again = await box.restart();
  await decide(again, held, 'approve');
  const run = await finish(again, held.runId);
  expect(run).toMatchObject({ status: 'completed', output: { content: `${said}falcon.` } });
});

test('a result as large as one may be is held with a rule of a long name, and read whole', async () => {
  const answer = `falcon ${'x'.repeat(1_040_000)}`;
  const { box, name } = await open('tool-result', { answer });
  const held = await ask(box, name, 'tool:look {}; say:Done.');
  expect(held.payload.result).toBe(answer);
  await decide(box, held, 'approve');
  expect(await finish(box, held.runId)).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
  const { messages = [] } = box.model.requests.at(-1) ?? {};
  expect(messages.at(-1)).toMatchObject({ role: 'tool', content: answer });
});

describe('a text that waits is read by people, and over MCP by no model before it is approved', () => {
  /** All that a model finds of it: each answer, as it is given it. */
  const readAs = async (box: TestBox, { approvalId, runId, sessionId }: Approval): Promise<string[]> => {
    const client = await connect(box, MODERN, { authorization: 'Bearer dev' });
    const asked: [string, object][] = [
      ['approvals.get', { id: approvalId }],
      ['approvals.list', { run: runId }],
      ['runs.get', { id: runId }],
      ['runs.list', {}],
      ['runs.steps', { id: runId }],
      ['runs.timeline', { id: runId }],
      ['runs.list', { has: 'at last' }],
      ...ofSession(sessionId),
    ];
    const answers: string[] = [];
    for (const [operation, input] of asked) {
      const { isError, text } = await callTool(client, 'call_read_operation', { operation, input });
      expect([operation, isError]).toEqual([operation, false]);
      answers.push(text);
    }
    return answers;
  };
  const ofSession = (id: string | null): [string, object][] =>
    id === null ? [] : ['sessions.get', 'sessions.messages'].map((operation) => [operation, { id }]);
  const readAsPerson = async (box: TestBox, runId: string) =>
    JSON.stringify([
      (await call(box, `GET /api/runs/${runId}`)).body,
      (await call(box, `GET /api/runs/${runId}/steps`)).body,
    ]);

  test.each([
    ['agent-input', 'say:A falcon, at last.'],
    ['tool-result', 'tool:look {}; say:Done.'],
    ['agent-output', 'say:A falcon, at last.'],
  ])('%s', async (side, content) => {
    const { box, name, rule } = await open(side, { answer: 'A falcon, at last.' });
    const held = await ask(box, name, content);
    expect(JSON.stringify(held.payload)).toContain('at last');
    expect(await readAsPerson(box, held.runId)).toContain('at last');
    const [approval = '', listed = '', ...answers] = await readAs(box, held);
    // What a caller has asked is its own; only where that waits is it withheld.
    const isAsked = side === 'agent-output';
    for (const answer of [approval, listed, ...(isAsked ? [] : answers)]) expect(answer).not.toContain('at last');
    expect(approval).toContain('A guardrail holds this text.');
    expect(approval).toContain(rule);
    expect(answers.join()).toContain('A guardrail holds this text.');
    await decide(box, held, 'approve');
    await finish(box, held.runId);
    expect((await readAs(box, held)).join()).toContain('at last');
  });

  test('an input that is rejected stays with people, and no case is made of it', async () => {
    const { box, name } = await open('agent-input');
    const held = await ask(box, name, 'say:A falcon, at last.');
    await decide(box, held, 'reject');
    await finish(box, held.runId);
    expect((await readAs(box, held)).join()).not.toContain('say:A falcon');
    const client = await connect(box, MODERN, { authorization: 'Bearer dev' });
    const made = await callTool(client, 'call_write_operation', {
      operation: 'evals.cases.create',
      input: { fromRunId: held.runId },
    });
    expect([made.isError, made.text]).toEqual([true, expect.stringContaining('A person makes a case of it')]);
    expect((await call(box, 'POST /api/evals/cases', { fromRunId: held.runId })).status).toBe(201);
  });

  const toRule = (name: string) => ({
    name,
    check: { kind: 'regex', pattern: 'falcon' },
    sides: ['workflow-input'],
    action: 'hold',
    attachment: { kind: 'workflow', name },
  });

  test('the input of a workflow, in lists and however large it is', async () => {
    const name = `limits-${++names}`;
    const box = await boxes.open({ workflows: { [name]: { run: ({ note }: { note: string }) => note.length } } });
    expect((await call(box, 'POST /api/guardrails', toRule(name))).status).toBe(201);
    for (const note of ['falcon, at last', `falcon, at last ${'x'.repeat(100_000)}`]) {
      const { body } = await call<{ runId: string }>(box, `POST /api/workflows/${name}/start`, { note });
      const list = async () =>
        (await call<{ items: Approval[] }>(box, `GET /api/approvals?run=${body.runId}`)).body.items;
      await until(async () => (await list()).length === 1);
      const [held] = await list();
      expect(await readAsPerson(box, body.runId)).toContain('at last');
      expect((await readAs(box, held as Approval)).join()).not.toContain('at last');
    }
    const headers = { 'x-svc-delay': '1h' };
    await call(box, `POST /api/workflows/${name}/start`, { note: 'falcon, at last' }, headers);
    expect(JSON.stringify((await call(box, `GET /api/workflows/${name}/queue`)).body)).toContain('at last');
    const client = await connect(box, MODERN, { authorization: 'Bearer dev' });
    const asked = { operation: 'workflows.queue', input: { name } };
    const { text } = await callTool(client, 'call_read_operation', asked);
    expect(text).toContain('A guardrail holds this text.');
    expect(text).not.toContain('at last');
  });

  test('the input of a workflow that a person has paused or cancelled', async () => {
    const name = `limits-${++names}`;
    const box = await boxes.open({ workflows: { [name]: { run: () => 1 } } });
    await call(box, 'POST /api/guardrails', toRule(name));
    const { body } = await call<{ runId: string }>(box, `POST /api/workflows/${name}/start`, { note: 'falcon' });
    for (const verb of ['pause', 'resume', 'cancel'])
      expect((await call(box, `POST /api/runs/${body.runId}/${verb}`)).status).toBe(200);
    const { items } = (await call<{ items: { id: string; target: { id?: string } }[] }>(box, 'GET /api/activity')).body;
    const noted = items.filter(({ target }) => target.id === body.runId);
    expect(noted).toHaveLength(3);
    const whole = await Promise.all(noted.map(({ id }) => call(box, `GET /api/activity/${id}`)));
    expect(JSON.stringify(whole)).not.toContain('falcon');
  });

  test('an input that was approved is there in what its run continues as, and in its retries', async () => {
    const name = `limits-${++names}`;
    const run = ({ note }: { note: string }) => {
      if (note === 'falcon') return continueAsNew({ note: 'more' });
      throw new FatalError('Not today.');
    };
    const box = await boxes.open({ workflows: { [name]: { run } } });
    await call(box, 'POST /api/guardrails', toRule(name));
    const pending = async (runId: string) =>
      (await call<{ items: Approval[] }>(box, `GET /api/approvals?status=pending&run=${runId}`)).body.items;
    const client = await connect(box, MODERN, { authorization: 'Bearer dev' });
    const inputOf = async (id: string) => {
      const { text } = await callTool(client, 'call_read_operation', { operation: 'runs.get', input: { id } });
      return (JSON.parse(text) as { input: unknown }).input;
    };
    const startHeld = async (note: string): Promise<string> => {
      const { body } = await call<{ runId: string }>(box, `POST /api/workflows/${name}/start`, { note });
      await until(async () => (await pending(body.runId)).length === 1);
      expect(await inputOf(body.runId)).toContain('A guardrail holds this text.');
      await decide(box, (await pending(body.runId))[0] as Approval, 'approve');
      await finish(box, body.runId);
      return body.runId;
    };
    const first = await startHeld('falcon');
    const { body: gone } = await call<{ continuedTo: string }>(box, `GET /api/runs/${first}`);
    expect(await inputOf(gone.continuedTo)).toEqual({ note: 'more' });
    const failed = await startHeld('falcons');
    const { body: again } = await call<{ runId: string }>(box, `POST /api/runs/${failed}/retry`, { from: 'start' });
    expect(await inputOf(again.runId)).toEqual({ note: 'falcons' });
  });
});

test('a result that waits is not shown to the model that rejects it', async () => {
  const { box, name, rule } = await open('tool-result', { answer: 'A falcon, at last.' });
  const held = await ask(box, name, 'tool:look {}; say:Done.');
  const client = await connect(box, MODERN, { authorization: 'Bearer dev' });
  const input = { id: held.approvalId, decision: 'reject' };
  const { body: asked } = await write(client, 'approvals.decide', input);
  const { text, body } = await write(client, 'approvals.decide', input, asked.requestState);
  expect(body).toMatchObject({ approvalId: held.approvalId, status: 'rejected' });
  expect(text).toContain(rule);
  expect(text).not.toContain('at last');
  await finish(box, held.runId);
  const shown = await callTool(client, 'call_read_operation', { operation: 'activity.list', input: {} });
  expect(shown.text).not.toContain('at last');
});

test('an answer that is streamed as JSON is held before its beginning, and said once it is approved, over a restart', async () => {
  const name = `limits-${++names}`;
  const said = '{"name":"a falcon","age":1}';
  const provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(toModelStream(said.split('').map((content) => ({ content }))));
  });
  const output = z.object({ name: z.string(), age: z.number() });
  const agents = { [name]: defineDeepAgent({ name, output, streamOutput: true }) };
  const box = await boxes.open({ agents, provider: { baseUrl: provider.url } });
  const rule = { name, check: { kind: 'words', words: ['falcon'] }, sides: ['agent-output'], action: 'hold' };
  expect((await call(box, 'POST /api/guardrails', { ...rule, attachment: { kind: 'agent', name } })).status).toBe(201);
  const clientOf = (of: TestBox) =>
    new HttpAgent({
      url: `http://box/agui/v1/agents/${name}`,
      threadId: 'one',
      headers: { authorization: 'Bearer dev' },
      fetch: (url, init) => of.request(String(url).replace('http://box', ''), init),
    });
  const asked = await say(clientOf(box), 'Who?');
  expect(textOf(asked)).toBe('');
  const again = await box.restart();
  const interruptId = asked.interrupts[0]?.id ?? '';
  const resume = [{ interruptId, status: 'resolved' as const, payload: { decision: 'approve' } }];
  const more = await say(clientOf(again), undefined, { resume });
  expect(textOf(asked) + textOf(more)).toBe(said);
});
