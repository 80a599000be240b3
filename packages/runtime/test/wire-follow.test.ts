import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { bothServers, createCluster } from './_cluster.ts';
import { call, json, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();
const count = defineTool({
  description: 'Counts.',
  inputSchema: z.object({ n: z.number() }),
  execute: ({ n }) => n + 1,
});
const pay = defineTool({ description: 'Pays.', inputSchema: z.object({}), execute: () => 'paid' });
const releases: (() => void)[] = [];
const hold = defineTool({
  description: 'Waits.',
  inputSchema: z.object({}),
  execute: () => new Promise<string>((resolve) => void releases.push(() => resolve('held'))),
});
const agents = { helper: defineDeepAgent({ name: 'helper', tools: { count, hold, pay }, interruptOn: { pay: true } }) };

const WORDS = 'one two three four five six seven eight nine ten';
const SCRIPT = `reason:So.; tool:count {"n":1}; delay:80; say:${WORDS}`;
const LONG = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(30_000)).join(' ');

const WIRES = {
  'wire-a': { path: '/wire-a/v1/chat/completions', more: {}, tool: '"name":"count"' },
  'wire-b': { path: '/wire-b/v1/messages', more: { max_tokens: 999_999 }, tool: '"name":"count"' },
} as const;
type WireName = keyof typeof WIRES;
const EACH = Object.keys(WIRES) as WireName[];

interface Asked {
  content?: string;
  headers?: Record<string, string>;
}

/** An answer as it comes. */
interface Streamed {
  status: number;
  headers: Headers;
  /** Its frames so far. */
  raw(): string;
  /** What the agent has said in them. */
  text(): string;
  ended: Promise<void>;
  leave(): void;
}

const headersOf = (headers: Record<string, string> = {}) => ({
  'x-api-key': 'any',
  'idempotency-key': 'k',
  ...headers,
});
const bodyOf = (wire: WireName, content = SCRIPT) => ({
  model: 'helper',
  stream: true,
  messages: [{ role: 'user', content }],
  ...WIRES[wire].more,
});

async function ask(box: TestBox, wire: WireName, { content, headers }: Asked = {}): Promise<Streamed> {
  const gone = new AbortController();
  const init = { ...json(bodyOf(wire, content), { headers: headersOf(headers) }), signal: gone.signal };
  const answer = await box.request(WIRES[wire].path, init);
  const decoder = new TextDecoder();
  let raw = '';
  const read = async () => {
    for await (const piece of answer.body ?? []) raw += decoder.decode(piece, { stream: true });
  };
  const ended = read().catch(() => {});
  return {
    status: answer.status,
    headers: answer.headers,
    raw: () => raw,
    text: () => textIn(raw),
    ended,
    leave: () => gone.abort(),
  };
}

const textIn = (raw: string) =>
  Array.from(raw.matchAll(/^data: (\{.*\})$/gm), ([, data = '']) => {
    const { choices, delta } = JSON.parse(data) as {
      choices?: { delta?: { content?: string } }[];
      delta?: { text?: string };
    };
    return choices?.[0]?.delta?.content ?? delta?.text ?? '';
  }).join('');
const runsOf = ({ journal }: TestBox) => journal.listRuns({ kind: 'agent' }, { limit: 5 });
/** Begins a turn and goes away once it has said the word. */
async function lose(box: TestBox, wire: WireName, { until: word, ...asked }: Asked & { until: string }) {
  const first = await ask(box, wire, asked);
  await until(() => first.text().includes(word));
  first.leave();
  return first;
}

describe.each(EACH)('a streamed request on %s that is sent again under its key while its turn runs', (wire) => {
  test.each<[string, Record<string, string>]>([
    ['of a stateless turn', {}],
    ['of a session', { 'x-svc-session': 'kept' }],
  ])('%s streams what has been made, and what comes', async (_, headers) => {
    const box = await boxes.open({ agents });
    const before = box.model.requests.length;
    const first = await lose(box, wire, { until: 'two', headers });
    const again = await ask(box, wire, { headers });
    await until(() => again.text().includes('two'));
    expect((await runsOf(box)).map(({ status }) => status)).toEqual(['running']);
    expect(again.text()).not.toContain('ten');
    expect(again.headers.get('x-svc-run-id')).toBe(first.headers.get('x-svc-run-id'));
    await again.ended;
    expect(again.text()).toBe(WORDS);
    expect(again.raw()).toContain(WIRES[wire].tool);
    // Once it has ended, the same comes at once.
    const last = await ask(box, wire, { headers });
    await last.ended;
    expect([last.text(), (await runsOf(box)).length, box.model.requests.length - before]).toEqual([WORDS, 1, 2]);
  });

  test('streams the rest to each of several', async () => {
    const box = await boxes.open({ agents });
    await lose(box, wire, { until: 'one' });
    const all = await Promise.all([ask(box, wire), ask(box, wire), ask(box, wire)]);
    await Promise.all(all.map(({ ended }) => ended));
    expect(all.map(({ text }) => text())).toEqual([WORDS, WORDS, WORDS]);
  });

  test('goes on after a restart', async () => {
    const box = await boxes.open({ agents, options: { engine: { drainMs: 0 } } });
    const first = await lose(box, wire, { until: 'two' });
    const next = await box.restart();
    const again = await ask(next, wire);
    await until(() => again.text().includes('two'));
    expect(again.text()).not.toContain('ten');
    await again.ended;
    expect(again.text()).toBe(WORDS);
    expect(again.raw()).toContain(WIRES[wire].tool);
    expect(again.headers.get('x-svc-run-id')).toBe(first.headers.get('x-svc-run-id'));
    expect(await runsOf(next)).toHaveLength(1);
  });

  test('has the whole text of a step that has said more than is held', async () => {
    const box = await boxes.open({ agents });
    const content = `tool:count {"n":1}; delay:60; say:${LONG}`;
    await lose(box, wire, { until: 'ccc', content });
    const again = await ask(box, wire, { content });
    await again.ended;
    expect(again.text()).toBe(LONG);
  });

  test('says so when the turn comes to wait for a person, and when its owner stops it', async () => {
    const box = await boxes.open({ agents });
    const before = releases.length;
    const headers = { 'x-svc-session': 'waits' };
    const content = 'tool:hold {}\ntool:pay {}; say:Paid.';
    const first = await ask(box, wire, { content, headers });
    await until(() => first.raw().includes('hold') && releases.length > before);
    first.leave();
    const again = await ask(box, wire, { content, headers });
    await until(() => again.raw().includes('hold'));
    releases.at(-1)?.();
    await again.ended;
    expect(again.raw()).toContain('"name":"pay"');
    const [, interrupt = ''] = /"interrupts":\[\{"id":"([^"]+)"/.exec(again.raw()) ?? [];
    expect((await call(box, `GET /api/approvals/${interrupt}`)).status).toBe(200);

    const stopped = { headers: { 'x-svc-session': 'stopped', 'idempotency-key': 'stopped' } };
    await lose(box, wire, { until: 'two', ...stopped });
    const reader = await ask(box, wire, stopped);
    await until(() => reader.text().includes('two'));
    const stop = { method: 'DELETE', headers: { 'x-api-key': 'any' } };
    expect((await box.request('/agui/v1/agents/helper/stopped/stream', stop)).status).toBe(204);
    const { items } = (await call<{ items: { runId: string }[] }>(box, 'GET /api/runs?status=cancelled')).body;
    expect((await call<{ summary: string }>(box, `GET /api/runs/${items[0]?.runId}/why`)).body.summary).toMatch(
      /^The run was cancelled at [^ ]+ by "owner"\.$/,
    );
    await reader.ended;
    expect(reader.raw()).toContain('run_cancelled');
    expect(reader.text()).not.toContain('ten');
  });

  test('says so when a sub-agent comes to wait beside a call that was answered before', async () => {
    const payer = { name: 'payer', description: 'Pays.', tools: { hold, pay }, interruptOn: { pay: true } };
    const helper = defineDeepAgent({ name: 'helper', tools: { count }, subagents: [payer] });
    const box = await boxes.open({ agents: { helper } });
    const before = releases.length;
    const task = JSON.stringify({ subagent_type: 'payer', description: 'tool:hold {}\ntool:pay {}; say:Paid.' });
    const asked = { content: `tools:task ${task} | count {"n":1}`, headers: { 'x-svc-session': 'below' } };
    const first = await ask(box, wire, asked);
    const runId = first.headers.get('x-svc-run-id') ?? '';
    const isAnswered = async () =>
      (await box.journal.getRecords(runId)).some(({ kind, event }) => kind === 'tool' && event === 'done');
    await until(async () => releases.length > before && (await isAnswered()));
    first.leave();
    const again = await ask(box, wire, asked);
    await until(() => again.raw().includes('count'));
    releases.at(-1)?.();
    await again.ended;
    expect(again.raw()).toMatch(/"interrupts":\[\{"id":"[^"]+"/);
  });

  test('of no session says so when it is stopped by its run', async () => {
    const box = await boxes.open({ agents });
    const first = await lose(box, wire, { until: 'two' });
    const reader = await ask(box, wire);
    await until(() => reader.text().includes('two'));
    const runId = first.headers.get('x-svc-run-id') ?? '';
    const stop = json({}, { headers: { 'x-api-key': 'any' } });
    expect((await box.request(`/api/runs/${runId}/cancel`, stop)).status).toBe(200);
    await reader.ended;
    expect(reader.raw()).toContain('run_cancelled');
    expect(reader.text()).not.toContain('ten');
  });

  test('gives an answer that has to fit a schema once it does', async () => {
    const output = z.object({ words: z.string() });
    const helper = defineDeepAgent({ name: 'helper', tools: { count }, output });
    const box = await boxes.open({ agents: { helper } });
    const content = `tool:count {"n":1}; delay:80; say:{"words":"${WORDS}"}`;
    const first = await ask(box, wire, { content });
    await until(() => first.raw().includes('count'));
    first.leave();
    const again = await ask(box, wire, { content });
    await again.ended;
    expect(JSON.parse(again.text())).toEqual({ words: WORDS });
  });

  test('whole is waited for, and is the whole', async () => {
    const box = await boxes.open({ agents });
    await lose(box, wire, { until: 'two' });
    const init = json({ ...bodyOf(wire), stream: false }, { headers: headersOf() });
    expect(await (await box.request(WIRES[wire].path, init)).text()).toContain(WORDS);
  });
});

describe.each(EACH)('a turn of a session that was begun on %s', (wire) => {
  const session = { 'x-svc-session': 'shared' };

  test('is followed over AG-UI, and as useChat does', async () => {
    const box = await boxes.open({ agents });
    await lose(box, wire, { until: 'two', headers: { ...session, 'idempotency-key': 'first' } });
    const headers = { 'x-api-key': 'any' };
    const input = { threadId: 'shared', runId: 'r', messages: [], tools: [], context: [], state: {} };
    const [agui, ui] = await Promise.all([
      box.request('/agui/v1/agents/helper', json(input, { headers })),
      box.request('/ui/v1/agents/helper/shared/stream', { headers }),
    ]);
    expect([agui.status, ui.status]).toEqual([200, 200]);
    expect((await runsOf(box)).map(({ status }) => status)).toEqual(['running']);
    const [events, chunks] = [await agui.text(), await ui.text()];
    const deltasOf = (raw: string) => Array.from(raw.matchAll(/"delta":"([^"{}]*)"/g), ([, text]) => text).join('');
    expect(deltasOf(events)).toContain(WORDS);
    expect(deltasOf(chunks)).toContain(WORDS);
    for (const raw of [events, chunks]) expect(raw).toContain('count');
    expect((await runsOf(box)).map(({ status }) => status)).toEqual(['completed']);
  });
});

test('a request of useChat that is sent again under its key is followed, too', async () => {
  const box = await boxes.open({ agents });
  const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: SCRIPT }] };
  const send = () =>
    box.request('/ui/v1/agents/helper', json({ id: 'c1', messages: [message] }, { headers: headersOf() }));
  const first = await send();
  const reader = first.body?.getReader();
  let raw = '';
  await until(async () => (raw += new TextDecoder().decode((await reader?.read())?.value)).includes('two'));
  await reader?.cancel();
  const again = await send();
  expect((await runsOf(box)).map(({ status }) => status)).toEqual(['running']);
  let seen = '';
  let isAhead = false;
  for await (const piece of again.body ?? []) {
    seen += new TextDecoder().decode(piece);
    isAhead ||= seen.includes('two') && !seen.includes('ten');
  }
  expect([isAhead, seen.includes('ten'), seen.match(/"delta":"one /g)?.length]).toEqual([true, true, 1]);
  expect(await runsOf(box)).toHaveLength(1);
});

describeWhen(bothServers, 'over replicas', (servers) => {
  test.each(EACH)('a repeat on %s has what is recorded at once, and the rest once it is', async (wire) => {
    const open = createCluster(boxes, servers);
    const [here, there] = [await open({ agents }), await open({ agents })];
    const content = `tool:count {"n":1}\ndelay:150; say:${WORDS}`;
    await lose(here, wire, { until: 'two', content });
    const again = await ask(there, wire, { content });
    await until(() => again.raw().includes(WIRES[wire].tool));
    expect((await runsOf(there)).map(({ status }) => status)).toEqual(['running']);
    await again.ended;
    expect(again.text()).toBe(WORDS);
    expect(await runsOf(there)).toHaveLength(1);
  });
});
