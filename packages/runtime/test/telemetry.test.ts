import { svc } from '../src/svc.ts';
import { eq } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { operatorToken } from '../src/auth/strategy.ts';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { sleep } from '../src/engine/primitives/sleep.ts';
import { guardrails } from '../src/guardrails/table.ts';
import { createLog } from '../src/log.ts';
import { createMask } from '../src/mask.ts';
import { placeOfRun } from '../src/telemetry/ids.ts';
import { readTelemetry } from '../src/telemetry/settings.ts';
import { parseMetrics, startCollector, toAttributes } from './_otlp.ts';
import type { Collector, ToldSpan } from './_otlp.ts';
import {
  call,
  finish,
  json,
  runWorkflow,
  setupBoxes,
  startProvider,
  startWorkflow,
  toModelStream,
  toStep,
  until,
} from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();
const PLANTED = 'planted-secret-4711';
const ADD = 'tool:add {"a": 2, "b": 3}';

const add = defineTool({
  description: 'Add two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => ({ sum: a + b, note: PLANTED }),
});
const one = toStep('one', () => 1);
let failures = 0;
const flaky = Object.assign(
  toStep('flaky', () => {
    failures += 1;
    if (failures < 3) throw new Error(`Not yet: ${PLANTED}`);
    return failures;
  }),
  { maxRetries: 3, backoff: { initial: 1 } },
);
const fails = toStep('fails', () => {
  throw Object.assign(new Error(`No: ${PLANTED}`), { fatal: true, code: 'card_declined' });
});

const PROGRAM = {
  agents: { helper: defineDeepAgent({ name: 'helper', tools: { add } }) },
  workflows: {
    echo: { run: async () => one() },
    bad: { run: async () => fails() },
    retried: { run: async () => [await flaky(), await one()] },
    naps: {
      async run() {
        await one();
        await sleep(1_500);
        return one();
      },
    },
  },
};

/** A box that tells the collector. */
async function openTold(
  collector: Collector,
  env: NodeJS.ProcessEnv = {},
  more: TestBoxOptions = {},
): Promise<TestBox> {
  const given = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRIC_EXPORT_INTERVAL: '200', ...env };
  const mask = createMask({ ...given, PLANTED_SECRET: PLANTED });
  return boxes.open({ ...PROGRAM, ...more, options: { telemetry: readTelemetry(given), mask, ...more.options } });
}

const ofRun = (runId: string) => (span: ToldSpan) => span.spanId === placeOfRun(runId).spanId;
const isNamed = (name: string) => (span: ToldSpan) => span.name === name;

async function chat(box: TestBox, content: string): Promise<Response> {
  const body = { model: 'helper', messages: [{ role: 'user', content }] };
  return box.request('/wire-a/v1/chat/completions', json(body, { headers: { authorization: 'Bearer any' } }));
}

test('a run that goes on after a restart is one trace under its traceId', async () => {
  const collector = await startCollector();
  const box = await openTold(collector);
  const runId = await startWorkflow(box, 'naps');
  await until(async () => (await box.journal.getRun(runId))?.status === 'waiting');
  await box.shut();
  const before = collector.spans.filter(({ attributes }) => attributes['svc.run.id'] === runId);
  expect(before.map(({ name }) => name)).toEqual(['step one']);

  const next = await openTold(collector, {}, { journalPath: box.journalPath });
  const run = await finish(next, runId);
  const root = await collector.untilSpan(ofRun(runId));
  await next.shut();
  const spans = collector.spans.filter(({ traceId }) => traceId === run.traceId);
  expect(spans.map(({ name }) => name).toSorted()).toEqual(['invoke_workflow naps', 'sleep', 'step one', 'step one']);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(4);
  const children = spans.filter((span) => span !== root);
  expect(new Set(children.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([root.spanId]));
  const slept = spans.find(isNamed('sleep')) as ToldSpan;
  // From when it was set, in the process before.
  expect(Number(slept.endTimeUnixNano) - Number(slept.startTimeUnixNano)).toBeGreaterThan(1.4e9);
  expect(root.attributes).toMatchObject({ 'svc.run.status': 'completed', 'gen_ai.operation.name': 'invoke_workflow' });
});

test('a turn is reported by the conventions for models and tools, with the tokens of its run', async () => {
  const collector = await startCollector();
  const box = await openTold(collector, { OTEL_SERVICE_NAME: 'shop', OTEL_RESOURCE_ATTRIBUTES: 'team=a' });
  expect((await chat(box, ADD)).status).toBe(200);
  const { body } = await call<{ items: Record<string, unknown>[] }>(box, 'GET /api/runs?kind=agent');
  const run = body.items[0] ?? {};
  const root = await collector.untilSpan(isNamed('invoke_agent helper'));
  await box.shut();
  expect(root.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'helper',
    'gen_ai.provider.name': 'openai',
    'gen_ai.usage.input_tokens': run.inputTokens,
    'gen_ai.usage.output_tokens': run.outputTokens,
  });
  const chats = collector.spans.filter(isNamed('chat test/scripted'));
  expect(chats).toHaveLength(2);
  for (const span of chats) {
    expect(span).toMatchObject({ traceId: run.traceId, kind: 3, parentSpanId: root.spanId });
    expect(span.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'test/scripted',
      'gen_ai.response.model': expect.any(String),
      'gen_ai.agent.name': 'helper',
      'server.address': '127.0.0.1',
    });
  }
  const sum = (name: string) => chats.reduce((total, { attributes }) => total + Number(attributes[name]), 0);
  expect([sum('gen_ai.usage.input_tokens'), sum('gen_ai.usage.output_tokens')]).toEqual([
    run.inputTokens,
    run.outputTokens,
  ]);
  expect(collector.spans.find(isNamed('execute_tool add'))?.attributes).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'add',
    'gen_ai.tool.call.id': expect.any(String),
  });
  expect(collector.resource).toMatchObject({ 'service.name': 'shop', team: 'a' });
  expect(collector.text()).not.toMatch(/"a": ?2|planted-secret|provider-key/);
});

test('a model call of a workflow has a span of its own, without an agent', async () => {
  const collector = await startCollector();
  const run = async () => {
    await svc.ai.embed({ input: 'red', model: 'test/vectors' });
    return (await svc.ai.chat({ prompt: 'say:four' })).text;
  };
  const box = await openTold(
    collector,
    { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' },
    { workflows: { thinks: { run } } },
  );
  const runId = await startWorkflow(box, 'thinks');
  await finish(box, runId);
  await collector.untilSpan(ofRun(runId));
  await box.shut();
  const [embedded] = collector.spans.filter(isNamed('embeddings test/vectors'));
  const [asked] = collector.spans.filter(isNamed('chat test/scripted'));
  expect(embedded?.attributes).toMatchObject({ 'gen_ai.operation.name': 'embeddings', 'gen_ai.usage.input_tokens': 1 });
  expect(asked?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.response.model': 'test/scripted',
  });
  expect(asked?.attributes['gen_ai.input.messages']).toContain('say:four');
  expect(asked?.attributes).not.toHaveProperty(['gen_ai.agent.name']);
});

test('a model call in a step, or in a tool, has a span below theirs, and is in the figures', async () => {
  const collector = await startCollector();
  const asks = toStep('asks', async () => {
    await svc.ai.embed({ input: 'red', model: 'test/vectors' });
    await svc.ai.chat({ prompt: 'error:400', model: 'test/broken' }).catch(() => {});
    return (await svc.ai.chat({ prompt: 'say:four' })).text;
  });
  const consult = defineTool({
    description: 'Ask another model.',
    inputSchema: z.object({}),
    execute: async () => (await svc.ai.chat({ prompt: 'say:five', model: 'test/other' })).text,
  });
  const box = await openTold(
    collector,
    { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' },
    {
      agents: { boss: defineDeepAgent({ name: 'boss', tools: { consult } }) },
      workflows: { thinks: { run: async () => asks() } },
    },
  );
  const run = await finish(box, await startWorkflow(box, 'thinks'));
  const body = { model: 'boss', messages: [{ role: 'user', content: 'tool:consult {}' }] };
  await box.request('/wire-a/v1/chat/completions', json(body, { headers: { authorization: 'Bearer any' } }));
  const samples = parseMetrics(await (await box.request('/metrics')).text());
  await collector.untilSpan(isNamed('invoke_agent boss'));
  await box.shut();

  const step = collector.spans.find(isNamed('step asks'));
  const below = collector.spans.filter(({ parentSpanId }) => parentSpanId === step?.spanId);
  expect(below.map(({ name }) => name)).toEqual(['embeddings test/vectors', 'chat test/broken', 'chat test/scripted']);
  expect(new Set(below.map(({ traceId }) => traceId))).toEqual(new Set([run.traceId]));
  expect(below.reduce((sum, { attributes }) => sum + Number(attributes['gen_ai.usage.input_tokens'] ?? 0), 0)).toBe(
    run.inputTokens,
  );
  const [, broken, asked] = below;
  expect(broken?.attributes['error.type']).toBe('model_provider_failed');
  expect(asked?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.response.finish_reasons': ['stop'],
    'svc.step.name': 'asks',
    'gen_ai.input.messages': expect.stringContaining('say:four'),
  });
  const [received] = collector.spans.filter(isNamed('chat test/other'));
  expect(received?.parentSpanId).toBe(collector.spans.find(isNamed('execute_tool consult'))?.spanId);
  expect(received?.attributes['gen_ai.agent.name']).toBe('boss');

  const count = (model: string, { agent = '', operation = 'chat', more = '' } = {}) =>
    samples.get(
      `gen_ai_client_operation_duration_seconds_count{${more}${agent}gen_ai_operation_name="${operation}",gen_ai_provider_name="openai",gen_ai_request_model="${model}"}`,
    );
  expect([
    count('test/vectors', { operation: 'embeddings' }),
    count('test/broken', { more: 'error_type="model_error",' }),
    count('test/other', { agent: 'gen_ai_agent_name="boss",' }),
  ]).toEqual([1, 1, 1]);
  const used = [...samples].filter(([name]) => /^gen_ai_client_token_usage_sum.*test\/vectors.*"input"/.test(name));
  expect(used.map(([, value]) => value)).toEqual([1]);
});

test('content is reported when it is asked for, without secrets', async () => {
  const collector = await startCollector();
  const box = await openTold(collector, { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' });
  await chat(box, ADD);
  await collector.untilSpan(isNamed('invoke_agent helper'));
  await box.shut();
  const [first] = collector.spans.filter(isNamed('chat test/scripted'));
  const asked = JSON.parse(String(first?.attributes['gen_ai.input.messages'])) as unknown[];
  expect(asked.at(-1)).toEqual({ role: 'user', parts: [{ type: 'text', content: ADD }] });
  const tool = collector.spans.find(isNamed('execute_tool add'));
  expect(tool?.attributes['gen_ai.tool.call.result']).toContain('"sum":5');
  expect(collector.text()).toContain('[hidden]');
  expect(collector.text()).not.toContain(PLANTED);
});

test('a turn whose texts have waited has each call of a tool once, and what it was asked', async () => {
  const collector = await startCollector();
  const box = await openTold(collector, { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' });
  const rules: string[] = [];
  for (const [side, word] of [
    ['agent-input', 'tool'],
    ['tool-result', 'sum'],
  ]) {
    const check = { kind: 'words', words: [word] };
    const rule = { name: `told ${side}`, check, sides: [side], action: 'hold' };
    rules.push((await call<{ id: string }>(box, 'POST /api/guardrails', rule)).body.id);
  }
  try {
    const body = { model: 'helper', messages: [{ role: 'user', content: ADD }] };
    const headers = { authorization: 'Bearer any', 'x-svc-session': 'told' };
    await (await box.request('/wire-a/v1/chat/completions', json(body, { headers }))).text();
    for (let n = 0; n < 2; n += 1) {
      const list = async () =>
        (await call<{ items: { approvalId: string }[] }>(box, 'GET /api/approvals?status=pending')).body.items;
      await until(async () => (await list()).length === 1);
      const [approval] = await list();
      await call(box, `POST /api/approvals/${approval?.approvalId}/decide`, { decision: 'approve' });
      await until(async () => (await list())[0]?.approvalId !== approval?.approvalId);
    }
    await collector.untilSpan(isNamed('invoke_agent helper'));
    await box.shut();
    const [first] = collector.spans.filter(isNamed('chat test/scripted'));
    const asked = JSON.parse(String(first?.attributes['gen_ai.input.messages'])) as unknown[];
    expect(asked).toMatchObject([{ role: 'user', parts: [{ content: ADD }] }]);
    expect(collector.spans.filter(isNamed('execute_tool add'))).toHaveLength(1);
    expect(collector.spans.filter(isNamed('step guardrail'))).toHaveLength(1);
  } finally {
    for (const id of rules) await boxes.db.delete(guardrails).where(eq(guardrails.id, id));
  }
});

test('what a rule masks is in no span, whichever side of a turn it is on', async () => {
  const CARD = '4111 1111 1111 1111';
  const collector = await startCollector();
  const call1 = { index: 0, id: 'c1', type: 'function', function: { name: 'pay', arguments: `{"note":"to ${CARD}"}` } };
  const replies = [
    toModelStream(
      [{ reasoning_content: `Hm ${CARD}` }, { content: `I see ${CARD}.` }, { tool_calls: [call1] }],
      'tool_calls',
    ),
    toModelStream([{ content: `Paid by ${CARD}.` }]),
  ];
  const provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(replies.shift());
  });
  const pay = defineTool({
    description: 'Pay.',
    inputSchema: z.object({ note: z.string() }),
    execute: ({ note }) => ({ note, card: CARD }),
  });
  const agents = { payer: defineDeepAgent({ name: 'payer', tools: { pay } }) };
  const env = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' };
  const box = await openTold(collector, env, { agents, provider: { baseUrl: provider.url } });
  const rule = {
    name: 'told masks',
    check: { kind: 'pii', kinds: ['card'] },
    sides: ['agent-input', 'agent-output', 'tool-call', 'tool-result'],
    action: 'mask',
    attachment: { kind: 'agent', name: 'payer' },
  };
  expect((await call(box, 'POST /api/guardrails', rule)).status).toBe(201);
  const body = { model: 'payer', messages: [{ role: 'user', content: `My card is ${CARD}` }] };
  await (
    await box.request('/wire-a/v1/chat/completions', json(body, { headers: { authorization: 'Bearer any' } }))
  ).text();
  expect(replies).toEqual([]);
  await collector.untilSpan(isNamed('invoke_agent payer'));
  await box.shut();
  const [first, last] = collector.spans.filter(isNamed('chat test/scripted'));
  expect(first?.attributes['gen_ai.input.messages']).toContain('My card is [card]');
  expect(first?.attributes['gen_ai.output.messages']).toContain('I see [card].');
  expect(last?.attributes['gen_ai.output.messages']).toContain('Paid by [card].');
  const tool = collector.spans.find(isNamed('execute_tool pay'));
  expect(tool?.attributes).toMatchObject({
    'gen_ai.tool.call.arguments': '{"note":"to [card]"}',
    'gen_ai.tool.call.result': '{"note":"to [card]","card":"[card]"}',
  });
  expect(collector.text()).not.toContain('4111');
});

test('a model call carries the place of its span to the provider', async () => {
  const collector = await startCollector();
  const seen: unknown[] = [];
  const provider = await startProvider((response) => {
    seen.push(response.req.headers.traceparent);
    response.setHeader('content-type', 'text/event-stream').end(toModelStream([{ content: 'Hello.' }]));
  });
  const box = await openTold(collector, {}, { provider: { baseUrl: provider.url } });
  expect((await chat(box, 'hello')).status).toBe(200);
  const span = await collector.untilSpan(isNamed('chat test/scripted'));
  expect(seen).toEqual([`00-${span.traceId}-${span.spanId}-01`]);
});

test('a request is reported in the trace of its caller, and it and the run it starts know each other', async () => {
  const collector = await startCollector();
  const box = await openTold(collector);
  const traceId = 'a'.repeat(32);
  const headers = { traceparent: `00-${traceId}-${'b'.repeat(16)}-01` };
  const { body } = await call(box, 'POST /api/workflows/echo/start', {}, headers);
  const runId = String(body.runId);
  const request = await collector.untilSpan(isNamed('POST /api/workflows/:name/start'));
  const root = await collector.untilSpan(ofRun(runId));
  expect(request).toMatchObject({ traceId, parentSpanId: 'b'.repeat(16), kind: 2 });
  expect(request.attributes).toMatchObject({
    'http.request.method': 'POST',
    'http.route': '/api/workflows/:name/start',
    'http.response.status_code': 202,
    'svc.request.id': expect.stringMatching(/^req_/),
  });
  expect(request.links).toEqual([expect.objectContaining({ traceId: root.traceId, spanId: root.spanId })]);
  expect(root.links).toEqual([expect.objectContaining({ traceId, spanId: request.spanId })]);
});

test('attempts that failed are events of the step, and an error has its type and no secret', async () => {
  const collector = await startCollector();
  const box = await openTold(collector);
  failures = 0;
  await runWorkflow(box, 'retried');
  const { runId } = await runWorkflow(box, 'bad');
  const root = await collector.untilSpan(ofRun(String(runId)));
  await box.shut();
  const step = collector.spans.find(isNamed('step flaky'));
  expect(step?.events.map(({ name, attributes }) => [name, attributes['svc.step.attempt']])).toEqual([
    ['retry', 1],
    ['retry', 2],
  ]);
  expect(step?.attributes['svc.step.attempt']).toBe(3);
  expect(collector.spans.find(isNamed('step fails'))?.attributes['error.type']).toBe('card_declined');
  expect([root.status.code, root.attributes['error.type'], root.attributes['svc.run.status']]).toEqual([
    2,
    'card_declined',
    'failed',
  ]);
  expect(root.status.message).toBe('No: [hidden]');
  expect(collector.text()).not.toContain(PLANTED);
});

test('a share of the traces is exported, and headers go to the collector', async () => {
  const collector = await startCollector();
  const env = {
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=abc',
  };
  const box = await openTold(collector, env);
  await runWorkflow(box, 'echo');
  await until(() => collector.metrics.length > 0);
  await box.shut();
  expect(collector.spans).toEqual([]);
  expect(new Set(collector.requests.map(({ headers }) => headers['x-key']))).toEqual(new Set(['abc']));
});

test('metrics go to the collector too', async () => {
  const collector = await startCollector();
  const box = await openTold(collector);
  await runWorkflow(box, 'echo');
  const endedOf = () =>
    collector.metrics
      .find(({ name }) => name === 'svc.runs')
      ?.sum?.dataPoints.find(({ attributes }) => toAttributes(attributes)['svc.run.status'] === 'completed');
  await until(() => endedOf() !== undefined);
  expect(endedOf()?.asDouble).toBe(1);
});

test('protobuf is sent when it is asked for', async () => {
  const collector = await startCollector();
  const box = await openTold(collector, { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' });
  await runWorkflow(box, 'echo');
  await box.shut();
  const sent = collector.requests.filter(({ path }) => path === '/v1/traces');
  expect(new Set(sent.map(({ headers }) => headers['content-type']))).toEqual(new Set(['application/x-protobuf']));
  expect(Buffer.concat(sent.map(({ bytes }) => bytes)).toString('latin1')).toContain('invoke_workflow echo');
});

test('a collector that is not there holds up nothing', async () => {
  const collector = { url: 'http://127.0.0.1:9' } as Collector;
  const box = await openTold(collector);
  expect((await runWorkflow(box, 'echo')).status).toBe('completed');
  const started = performance.now();
  await box.shut();
  expect(performance.now() - started).toBeLessThan(8_000);
});

test('a collector that refuses is warned of once a minute', async () => {
  const collector = await startCollector({ status: 400 });
  const box = await openTold(collector);
  await runWorkflow(box, 'echo');
  await until(() => collector.requests.length > 4);
  await box.shut();
  expect(box.logs.map(({ message }) => String(message).split(';')[0])).toEqual(['The collector takes nothing']);
});

test('/metrics counts runs, steps, tokens and requests from the beginning', async () => {
  const box = await boxes.open(PROGRAM);
  await runWorkflow(box, 'echo');
  await runWorkflow(box, 'bad');
  await chat(box, ADD);
  const answer = await box.request('/metrics');
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  const samples = parseMetrics(await answer.text());
  const runs = (name: string, status: string, kind = 'workflow') =>
    samples.get(`svc_runs_total{svc_run_kind="${kind}",svc_run_name="${name}",svc_run_status="${status}"}`);
  expect([runs('echo', 'started'), runs('echo', 'completed'), runs('bad', 'failed')]).toEqual([1, 1, 1]);
  expect(runs('helper', 'completed', 'agent')).toBe(1);
  const find = (part: string) => [...samples].filter(([name]) => name.startsWith(part)).map(([, value]) => value);
  const { body } = await call<{ items: { inputTokens: number }[] }>(box, 'GET /api/runs?kind=agent');
  const labels = 'gen_ai_agent_name="helper",gen_ai_operation_name="chat",gen_ai_provider_name="openai"';
  const tokens = `${labels},gen_ai_request_model="test/scripted",gen_ai_token_type="input"`;
  expect(samples.get(`gen_ai_client_token_usage_sum{${tokens}}`)).toBe(body.items[0]?.inputTokens);
  expect(find('http_server_request_duration_seconds_count').length).toBeGreaterThan(0);
  expect(find('svc_step_duration_seconds_bucket').length).toBeGreaterThan(0);
  for (const name of ['svc_approvals_pending', 'svc_runs_live', 'svc_streams_open', 'process_memory_usage_bytes'])
    expect(find(`${name}{`)).toHaveLength(1);
  expect(find('svc_queue_depth{')).toEqual([0, 0]);
});

test('a tool that a model made up is no label', async () => {
  const box = await boxes.open(PROGRAM);
  for (let n = 0; n < 3; n++) await chat(box, `tool:made_up_${n} {}`);
  const text = await (await box.request('/metrics')).text();
  expect(text).not.toContain('made_up');
});

test('/metrics of a deployed box asks for the token of the scraper, or someone who may read services', async () => {
  const telemetry = readTelemetry({ SVC_METRICS_TOKEN: 'scraper-token' });
  const box = await boxes.open({ ...PROGRAM, options: { host: 'image', telemetry } });
  const ask = (token?: string) =>
    box.request('/metrics', token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
  expect([(await ask()).status, (await ask('another')).status, (await ask('scraper-token')).status]).toEqual([
    401, 401, 200,
  ]);
});

test('a step that holds the event loop of a deployed box is in its log by name, and in the figures', async () => {
  const spin = toStep('spin', () => {
    const end = performance.now() + 1_500;
    while (performance.now() < end);
  });
  const telemetry = readTelemetry({ SVC_METRICS_TOKEN: 'scraper-token' });
  const box = await boxes.open({
    workflows: { hog: { run: async () => spin() } },
    options: { host: 'image', telemetry, strategy: operatorToken('the-token-of-the-operator') },
  });
  const headers = { authorization: 'Bearer the-token-of-the-operator' };
  const find = () => box.logs.find(({ message }) => /^The event loop was held for \d+ ms: /.test(String(message)));
  // Beside others that are busy the first one may look like a machine without time.
  await until(async () => {
    await call(box, 'POST /api/workflows/hog/start', {}, headers);
    return find() !== undefined;
  }, 30_000);
  expect(find()).toMatchObject({ level: 'warn', ms: expect.any(Number), steps: ['hog: spin'] });
  const answer = await box.request('/metrics', { headers: { authorization: 'Bearer scraper-token' } });
  const samples = parseMetrics(await answer.text());
  expect(samples.get('svc_eventloop_stall_duration_seconds_count{svc_stall_cause="code"}')).toBeGreaterThan(0);
});

test('records of the log say what they are about, and hold no secret', async () => {
  const records: Record<string, unknown>[] = [];
  const log = createLog({ level: 'debug', write: () => {}, mask: createMask({ PLANTED_SECRET: PLANTED }) });
  const stop = log.listen('debug', (record) => records.push(record));
  const box = await boxes.open({
    ...PROGRAM,
    options: {
      log,
      services: () => {
        throw new Error(`postgres://user:pw@db ${PLANTED}`);
      },
    },
  });
  const answer = await box.request('/api/openapi.json');
  expect(answer.status).toBe(500);
  const failed = records.find(({ message }) => message === 'A request failed.');
  expect(failed).toMatchObject({ requestId: answer.headers.get('x-request-id'), route: '/api/openapi.json' });
  log.error('x', {
    authorization: 'Bearer abc',
    apiKey: 'k',
    inner: { accessToken: 't', inputTokens: 3 },
    note: PLANTED,
  });
  expect(records.at(-1)).toMatchObject({
    authorization: '[hidden]',
    apiKey: '[hidden]',
    inner: { accessToken: '[hidden]', inputTokens: 3 },
    note: '[hidden]',
  });
  expect(JSON.stringify(records)).not.toMatch(/planted-secret|user:pw/);
  stop();
});
