import { HttpAgent } from '@ag-ui/client';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/index.ts';
import { createAgent, say, serveAgui, setupAgui, textOf, toldModel } from './_agui.ts';
import type { AguiBox, Calls, Received } from './_agui.ts';
import { describeOnBoth } from './_both.ts';
import type { OpenBox } from './_both.ts';
import { call, finish, json, startProvider, toModelStream, until } from './_setup.ts';

const boxes = setupAgui();
let names = 0;
let openBox: OpenBox;

/** What does not fit it is a hit: amounts over ten. */
const SMALL = { kind: 'schema', schema: { properties: { amount: { type: 'number', maximum: 10 } } } };

interface Waiting {
  approvalId: string;
  runId: string;
  title: string;
  payload: object;
}

interface Held extends AguiBox {
  /** Its approval, of the call that waits. */
  id: string;
  rule: { id: string; name: string };
  decide(body: unknown): ReturnType<typeof call>;
}

/** The boxes of this file share one database, so each rule goes when its test ends. */
async function withRule<T>(run: (open: AguiBox, rule: Held['rule']) => Promise<T>, more: object = {}): Promise<T> {
  const calls: Calls[] = [];
  const { interruptOn: _, ...agent } = createAgent(calls);
  const box = await openBox({ agents: { helper: agent as ReturnType<typeof createAgent> } });
  const open = await serveAgui(box, calls);
  const given = { check: SMALL, sides: ['tool-call'], action: 'hold', name: `large-${++names}`, ...more };
  const { status, body: rule } = await call<Held['rule']>(box, 'POST /api/guardrails', given);
  expect(status).toBe(201);
  try {
    return await run(open, rule);
  } finally {
    await box.request(`/api/guardrails/${rule.id}`, { method: 'DELETE' });
  }
}

const pay = (amount: number) => `tool:refund {"order":"A-1","amount":${amount}}; say:Done.`;

async function hold(open: AguiBox, rule: Held['rule'], thread: string): Promise<Held> {
  const { interrupts } = await say(open.client(thread), pay(50));
  const id = interrupts[0]?.id ?? '';
  return {
    ...open,
    id,
    rule,
    decide: (body) => call(open.box, `POST /api/approvals/${id}/decide`, body),
  };
}

describeOnBoth(boxes, 'what a rule holds', (openOn) => {
  beforeAll(() => {
    openBox = openOn;
  });

  describe('a call that a rule holds', () => {
    test('waits in the inbox and runs once it is approved; one the rule takes does not wait', () =>
      withRule(async (open, rule) => {
        await say(open.client('small'), pay(5));
        expect(open.calls).toMatchObject([{ input: { amount: 5 } }]);

        const { box, id, calls, decide } = await hold(open, rule, 'large');
        const { body } = await call<{ items: unknown[] }>(box, 'GET /api/approvals?status=pending&source=guardrail');
        expect(body.items).toMatchObject([
          {
            approvalId: id,
            source: 'guardrail',
            title: 'Run "refund"?',
            description: `The guardrail "${rule.name}" holds this call.`,
            payload: { tool: 'refund', arguments: { order: 'A-1', amount: 50 } },
            allow: ['approve', 'edit', 'reject'],
            by: 'operator',
            argsDigest: expect.stringMatching(/^[\da-f]{64}$/),
          },
        ]);
        expect(calls).toHaveLength(1);
        expect(await decide({ decision: 'approve' })).toMatchObject({ status: 200, body: { status: 'approved' } });
        await until(() => calls.length === 2);
        expect(calls[1]).toMatchObject({ input: { amount: 50 } });
        const { items } = (await call<{ items: object[] }>(box, `GET /api/guardrails/hits?ruleId=${rule.id}`)).body;
        expect(items).toMatchObject([
          { action: 'hold', side: 'tool-call', place: 'agent helper', reason: 'approved by "owner"' },
          { action: 'hold', side: 'tool-call', place: 'agent helper', count: 1 },
        ]);
      }));

    test('is run with the arguments it is edited to, once they fit the tool, and is answered with the rejection', () =>
      withRule(async (open, rule) => {
        const edited = await hold(open, rule, 'edited');
        const wrong = await edited.decide({ decision: 'approve', input: { order: 'A-1', amount: 500 } });
        expect(wrong).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
        await edited.decide({ decision: 'approve', input: { order: 'A-1', amount: 7 } });
        await until(() => edited.calls.length === 1);
        expect(edited.calls).toMatchObject([{ input: { amount: 7 } }]);

        const rejected = await hold(open, rule, 'rejected');
        await rejected.decide({ decision: 'reject', note: 'Too much.' });
        await until(() => toldModel(open.box).at(-1)?.role === 'tool');
        expect(toldModel(open.box).at(-1)?.content).toContain('Too much.');
        expect(open.calls).toHaveLength(1);
      }));

    test('waits over a restart, and after its rule is gone', async () => {
      const held = await withRule((open, rule) => hold(open, rule, 'restarted'));
      const again = await held.box.restart();
      const { body } = await call(again, `POST /api/approvals/${held.id}/decide`, { decision: 'approve' });
      expect(body).toMatchObject({ status: 'approved', source: 'guardrail' });
      await until(() => held.calls.length === 1);
    });

    test('is refused where a client would run it: it would be with the client by then', () =>
      withRule(async ({ box }) => {
        const own = { type: 'function', function: { name: 'wire', parameters: { type: 'object' } } };
        const messages = [{ role: 'user', content: 'tool:wire {"amount":50}; say:Done.' }];
        const answer = await box.request(
          '/wire-a/v1/chat/completions',
          json({ model: 'helper', messages, tools: [own] }, { headers: { authorization: 'Bearer dev' } }),
        );
        const { choices } = (await answer.json()) as { choices: object[] };
        expect(choices[0]).toMatchObject({ finish_reason: 'content_filter' });
        expect(JSON.stringify(choices)).not.toContain('tool_calls');
      }));
  });

  const addRule = async ({ box }: Pick<AguiBox, 'box'>, name: string, side: string) => {
    const check = { kind: 'words', words: ['forbidden'] };
    const attachment = { kind: side === 'workflow-input' ? 'workflow' : 'agent', name };
    const given = { name: `held-${++names}`, check, sides: [side], action: 'hold', attachment };
    expect((await call(box, 'POST /api/guardrails', given)).status).toBe(201);
  };

  describe('a call that stands before a text that a rule holds', () => {
    const ARGS = '{"q":"x"}';
    const own = { name: 'own', description: 'Of the client.', parameters: { type: 'object' } };
    const open = async (tool: string) => {
      const agent = `caller-${++names}`;
      const replies = [
        toModelStream(
          [
            { content: 'So. ' },
            { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: tool, arguments: ARGS } }] },
            { content: 'It is forbidden.' },
          ],
          'tool_calls',
        ),
      ];
      const provider = await startProvider((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(replies.shift() ?? toModelStream([{ content: 'Done.' }]));
      });
      const ran: string[] = [];
      const look = defineTool({
        description: 'Looks.',
        inputSchema: z.object({ q: z.string() }),
        execute: ({ q }) => void ran.push(q),
      });
      const agents = { helper: createAgent(), [agent]: defineDeepAgent({ name: agent, tools: { look } }) };
      const box = await openBox({ agents, provider: { baseUrl: provider.url } });
      await addRule({ box }, agent, 'agent-output');
      const { url } = await serveAgui(box);
      const headers = { authorization: 'Bearer dev' };
      const client = new HttpAgent({ url: url.replace('helper', agent), threadId: agent, headers });
      const asked = await say(client, 'Go.', { tools: [own] });
      expect([textOf(asked), asked.interrupts.length, callsOf(asked)]).toEqual(['So. It is ', 1, []]);
      expect(ran).toEqual([]);
      const decide = (decision: 'approve' | 'reject') =>
        say(client, undefined, {
          tools: [own],
          resume: [{ interruptId: asked.interrupts[0]?.id ?? '', status: 'resolved', payload: { decision } }],
        });
      return { decide, ran, client };
    };
    const callsOf = ({ events }: Received) =>
      events
        .filter(({ type }) => type === 'TOOL_CALL_START' || type === 'TOOL_CALL_ARGS')
        .map(({ toolCallName, delta }) => toolCallName ?? delta);

    test.each(['own', 'look'])('comes once, behind it, when it is approved: %s', async (tool) => {
      const { decide, ran } = await open(tool);
      const more = await decide('approve');
      expect(callsOf(more)).toEqual([tool, ARGS]);
      expect(textOf(more)).toBe(tool === 'own' ? 'forbidden.' : 'forbidden.Done.');
      expect(ran).toEqual(tool === 'own' ? [] : ['x']);
    });

    test.each(['own', 'look'])('never comes when it is rejected: %s', async (tool) => {
      const { decide, ran, client } = await open(tool);
      expect(callsOf(await decide('reject'))).toEqual([]);
      expect(JSON.stringify(client.messages)).not.toContain('toolCalls');
      expect(ran).toEqual([]);
    });
  });

  describe('a text of a sub-agent that a rule holds', () => {
    test.each([
      ['its task', 'agent-input', '/child', 'say:Not forbidden.'],
      ['its answer', 'agent-output', '/child', 'say:It is forbidden.'],
      ['its answer, as a result', 'tool-result', '', 'say:It is forbidden.'],
    ])(
      'is told of behind all that the turn above has done, also to who asks again: %s',
      async (_, side, below, description) => {
        const agent = `lead-${++names}`;
        const add = defineTool({
          description: 'Adds.',
          inputSchema: z.object({ a: z.number() }),
          execute: ({ a }) => a,
        });
        const child = { name: 'child', description: 'Does it.' };
        const lead = defineDeepAgent({ name: agent, tools: { add }, subagents: [child] });
        const box = await openBox({ agents: { [agent]: lead } });
        await addRule({ box }, `${agent}${below}`, side);
        const task = JSON.stringify({ subagent_type: 'child', description });
        const content = `tool:add {"a":1}\ntool:add {"a":2}\ntool:task ${task}\nsay:Done.`;
        const ask = async () => {
          const headers = { authorization: 'Bearer dev', 'x-svc-session': agent, 'idempotency-key': agent };
          const given = json({ model: agent, messages: [{ role: 'user', content }] }, { headers });
          const answer = await box.request('/wire-a/v1/chat/completions', given);
          return (await answer.json()) as { choices: object[]; usage: { completion_tokens: number } };
        };
        const first = await ask();
        expect(first.choices).toMatchObject([{ svc: { interrupts: [{ id: expect.any(String) }] } }]);
        const again = await ask();
        expect([again.choices, again.usage]).toEqual([first.choices, first.usage]);
      },
    );
  });

  describe('a long input that a rule holds', () => {
    const LONG = `forbidden ${'x'.repeat(200_000)}`;
    const open = async () => {
      const name = `long-${++names}`;
      const helper = defineDeepAgent({ name });
      const workflows = { [name]: { run: ({ note }: { note: string }) => note.length } };
      const box = await openBox({ agents: { [name]: helper }, workflows });
      return { name, box };
    };
    const pending = async ({ box }: Pick<AguiBox, 'box'>, name: string) => {
      const { items } = (await call<{ items: Waiting[] }>(box, 'GET /api/approvals?status=pending&source=guardrail'))
        .body;
      return items.find(({ title }) => title.includes(name));
    };

    test('of a workflow is shown as far as one reads it, and goes on whole', async () => {
      const { name, box } = await open();
      await addRule({ box }, name, 'workflow-input');
      const { body } = await call<{ runId: string }>(box, `POST /api/workflows/${name}/start`, { note: LONG });
      await until(async () => (await pending({ box }, name)) !== undefined);
      const { approvalId } = (await pending({ box }, name)) as Waiting;
      const { payload } = (await call<Waiting>(box, `GET /api/approvals/${approvalId}`)).body;
      expect(payload).toMatchObject({
        workflow: name,
        input: expect.stringMatching(/^{"note":"forbidden x+…$/),
        cut: ['input'],
      });
      expect(JSON.stringify(payload).length).toBeLessThan(70_000);
      const again = await box.restart();
      await call(again, `POST /api/approvals/${approvalId}/decide`, { decision: 'approve' });
      expect(await finish(again, body.runId)).toMatchObject({ status: 'completed', output: LONG.length });
    });

    test('of an agent is shown so, too', async () => {
      const { name, box } = await open();
      await addRule({ box }, name, 'agent-input');
      const messages = [LONG, 'say:Done.'].map((content) => ({ role: 'user', content }));
      const headers = { authorization: 'Bearer dev', 'x-svc-session': name };
      await box.request('/wire-a/v1/chat/completions', json({ model: name, messages }, { headers }));
      const { approvalId, runId } = (await pending({ box }, name)) as Waiting;
      const { payload } = (await call<Waiting>(box, `GET /api/approvals/${approvalId}`)).body;
      expect(payload).toMatchObject({ agent: name, messages: expect.stringContaining('forbidden'), cut: ['messages'] });
      expect(JSON.stringify(payload).length).toBeLessThan(70_000);
      const again = await box.restart();
      await call(again, `POST /api/approvals/${approvalId}/decide`, { decision: 'approve' });
      expect(await finish(again, runId)).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
      expect(toldModel(again).map(({ content }) => content)).toEqual([LONG, 'say:Done.']);
    });
  });

  describe('a rule that holds', () => {
    test('is tried on any side', () =>
      withRule(async ({ box }) => {
        const tried = { text: '{"amount": 11}', rule: { check: SMALL, action: 'hold' } };
        const held = { verdict: 'hold', rule: 'draft', text: '{"amount": 11}' };
        for (const side of ['workflow-input', 'agent-input', 'agent-output', 'tool-call', 'tool-result'])
          expect((await call(box, 'POST /api/guardrails/test', { ...tried, side })).body).toMatchObject(held);
      }));
  });
});
