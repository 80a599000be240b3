import * as fs from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { useRig } from './_setup.ts';

const rig = useRig();
const closers: (() => void)[] = [];
afterAll(() => closers.forEach((close) => close()));

const VALUE = 'ACME-739215';
/** Said by the sub-agent alone, and masked as a result of the agent above it. */
const ANSWER = 'CHILD-481516';
/** Said beside it, and masked by no rule: what is looked for would be found. */
const PLAIN = 'PLAIN-739215';

const AGENT = `import { defineDeepAgent, defineTool } from '@svc/runtime';
import { z } from 'zod';

const keep = defineTool({
  description: 'Keep a note.',
  inputSchema: z.object({ text: z.string() }),
  execute({ text }) {
    console.log('kept', text);
    return { text, also: ['${VALUE}', '${PLAIN}'] };
  },
});

export default defineDeepAgent({
  name: 'desk',
  tools: { keep },
  subagents: [{ name: 'child', description: 'Does it.' }],
});
`;
const WORKFLOW = `export async function run(input: { note: string }) {
  'use workflow';
  console.log('paid', input.note);
  return input;
}
`;

const call = (index: number, name: string, args: object) => ({
  index,
  id: `call_${name}`,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});

/** A model that says the value in every way there is: thought, text, arguments, and as a sub-agent. */
async function startTeller(): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => (body += part));
    request.on('end', () => {
      asked.push(body);
      const isFirst = !body.includes('"role":"tool"');
      const isChild = isFirst && body.includes('do it for me');
      const calls = [
        call(0, 'keep', { text: VALUE }),
        call(1, 'task', { subagent_type: 'child', description: `do it for me, ${VALUE}` }),
      ];
      const deltas: object[] = [
        { reasoning_content: `It is AC` },
        { reasoning_content: `ME-739215, ${PLAIN}.` },
        { content: `I say ACME-7` },
        { content: `39215 and ${PLAIN}.` },
        ...(isChild ? [{ content: ` Mine is CHILD-48` }, { content: `1516.` }] : []),
        ...(isFirst && !isChild ? [{ tool_calls: calls }] : []),
      ];
      const reason = isFirst && !isChild ? 'tool_calls' : 'stop';
      const choices = [...deltas.map((delta) => [delta, null]), [{}, reason]];
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const [delta, end] of choices)
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: end }] })}\n\n`);
      response.end('data: [DONE]\n\n');
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

/** The files below a folder that hold a text. */
function listHolders(root: string, text: string): string[] {
  return fs
    .readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => fs.readFileSync(file).includes(text));
}

it('what a rule masks is in no answer, no request of a model, no line that is printed, and no file of the box', async () => {
  const teller = await startTeller();
  const workspace = await rig.workspace({ 'deep-agents/desk/index.ts': AGENT, 'workflows/pay.workflow.ts': WORKFLOW });
  const box = await workspace.boot({ env: { MODEL_PROVIDER_BASE_URL: teller.url } });
  const sides = 'workflow-input,agent-input,agent-output,tool-call,tool-result';
  for (const [name, asked, prefix] of [
    ['numbers', sides, 'ACME'],
    ['answers', 'tool-result', 'CHILD'],
  ] as const) {
    const check = JSON.stringify({ kind: 'regex', pattern: `\\b${prefix}-\\d{6}\\b` });
    const rule = ['guardrails', 'create', name, '--action', 'mask', '--sides', asked, '--check', check];
    expect((await workspace.svc(...rule)).code).toBe(0);
  }

  const { runId } = await box.start('pay', { note: `by ${VALUE}, ${PLAIN}` });
  const answers = [JSON.stringify(await box.finish(runId))];
  for (const stream of [false, true]) {
    const messages = [{ role: 'user', content: `My number is ${VALUE}, ${PLAIN}.` }];
    const headers = { 'content-type': 'application/json', authorization: 'Bearer any', 'x-svc-session': `s-${stream}` };
    const body = JSON.stringify({ model: 'desk', stream, messages });
    answers.push(await (await box.fetch('/wire-a/v1/chat/completions', { method: 'POST', headers, body })).text());
  }
  const { items: runs } = await box.get<{ items: { runId: string; name: string }[] }>('/api/runs?limit=50');
  expect(runs.map(({ name }) => name).toSorted()).toEqual(['desk', 'desk', 'desk/child', 'desk/child', 'pay']);
  for (const run of runs)
    answers.push(
      JSON.stringify(await box.get(`/api/runs/${run.runId}`)),
      JSON.stringify(await box.get(`/api/runs/${run.runId}/steps`)),
    );
  for (const path of [
    'sessions',
    'sessions/s-true/messages?agent=desk',
    'logs?limit=200',
    'guardrails/hits?limit=200',
    'activity',
  ])
    answers.push(JSON.stringify(await box.get(`/api/${path}`)));
  const hits = await box.get<{ items: { side: string; ruleName: string; place: string }[] }>(
    '/api/guardrails/hits?limit=200',
  );
  expect(new Set(hits.items.map(({ side }) => side))).toEqual(new Set(sides.split(',')));
  const answered = { ruleName: 'answers', side: 'tool-result', place: 'agent desk' };
  expect(hits.items.filter(({ ruleName }) => ruleName === 'answers')).toMatchObject([answered, answered]);
  const { stdout, stderr } = await box.stop();

  const said = { answers: answers.join('\n'), asked: teller.asked.join('\n'), printed: stdout + stderr };
  for (const [where, text] of Object.entries(said))
    expect([
      where,
      text.includes(PLAIN),
      text.includes(VALUE),
      text.includes(ANSWER),
      text.includes('[pattern]'),
    ]).toEqual([where, true, false, false, true]);
  expect(listHolders(workspace.path('.svc'), PLAIN)).not.toEqual([]);
  expect(listHolders(workspace.path('.svc/pgdata'), 'numbers')).not.toEqual([]);
  // The code of the agent was written with it.
  const holders = [VALUE, ANSWER]
    .flatMap((value) => listHolders(workspace.root, value))
    .filter((file) => !fs.readFileSync(file, 'utf8').includes('defineDeepAgent'));
  expect(holders).toEqual([]);
}, 60_000);
