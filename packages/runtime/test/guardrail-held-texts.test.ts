import { HttpAgent } from '@ag-ui/client';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { continueAsNew, defineDeepAgent, defineTool, FatalError } from '../src/index.ts';
import { say, setupAgui, serveAgui, textOf, toldModel } from './_agui.ts';
import { describeOnBoth } from './_both.ts';
import type { OpenBox } from './_both.ts';
import { call, finish, json, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupAgui();
let names = 0;
const newName = (kind: string) => `${kind}-${++names}`;

interface Approval {
  approvalId: string;
  runId: string;
  payload: object;
}

/** Each rule is of one agent or workflow, as the boxes of this file share one database. */
async function rule(
  box: TestBox,
  side: string,
  kind: 'agent' | 'workflow',
  name: string,
  check: object = { kind: 'words', words: ['forbidden'] },
): Promise<string> {
  const given = {
    name: `held ${name}`,
    check,
    sides: [side],
    action: 'hold',
    attachment: { kind, name },
  };
  const { status, body } = await call<{ id: string }>(box, 'POST /api/guardrails', given);
  expect(status).toBe(201);
  return body.id;
}

const askA = (box: TestBox, model: string, text: string, more: object = {}) =>
  box.request(
    '/wire-a/v1/chat/completions',
    json({ model, messages: [{ role: 'user', content: text }], ...more }, { headers: { authorization: 'Bearer dev' } }),
  );
/** A client of an agent that is not the one the helper is for. */
async function clientOf(box: TestBox, name: string, threadId: string): Promise<HttpAgent> {
  const { url } = await serveAgui(box);
  return new HttpAgent({ url: url.replace('helper', name), threadId, headers: { authorization: 'Bearer dev' } });
}

const pendingOf = async (box: TestBox, runId?: string): Promise<Approval[]> => {
  const query = `status=pending&source=guardrail${runId === undefined ? '' : `&run=${runId}`}`;
  return (await call<{ items: Approval[] }>(box, `GET /api/approvals?${query}`)).body.items;
};
const decide = (box: TestBox, id: string, body: object) => call(box, `POST /api/approvals/${id}/decide`, body);
const runOf = async (box: TestBox, id: string) =>
  (
    await call<{ status: string; output: unknown; error: { code: string; message: string } | null }>(
      box,
      `GET /api/runs/${id}`,
    )
  ).body;
const hitsOf = async (box: TestBox, id: string) =>
  (await call<{ items: object[] }>(box, `GET /api/guardrails/hits?ruleId=${id}`)).body.items;

describeOnBoth(boxes, 'a text that a rule holds', (openBox: OpenBox) => {
  describe('the input of a workflow that a rule holds', () => {
    const begun: unknown[] = [];
    const open = async () => {
      const name = newName('pay');
      const run = (input: unknown) => {
        begun.push(input);
        return { got: input };
      };
      const box = await openBox({ workflows: { [name]: { run } } });
      return { name, box, id: await rule(box, 'workflow-input', 'workflow', name) };
    };
    const start = async (box: TestBox, name: string, note: string) =>
      (await call<{ runId: string; status: string }>(box, `POST /api/workflows/${name}/start`, { note })).body;

    test('waits in the inbox before anything is executed, and goes on as it was once it is approved', async () => {
      const { box, name, id } = await open();
      begun.length = 0;
      const { runId, status } = await start(box, name, 'forbidden');
      expect(status).toBe('started');
      await until(async () => (await pendingOf(box, runId)).length === 1);
      expect(await pendingOf(box, runId)).toMatchObject([
        {
          source: 'guardrail',
          title: `Start "${name}" with this?`,
          description: `The guardrail "held ${name}" holds this: word.`,
          payload: { workflow: name, input: { note: 'forbidden' } },
          allow: ['approve', 'reject'],
          argsDigest: null,
        },
      ]);
      expect((await runOf(box, runId)).status).toBe('waiting');
      expect(begun).toEqual([]);
      await start(box, name, 'fine');
      await until(() => begun.length === 1);
      const [asked] = await pendingOf(box, runId);
      const edited = await decide(box, asked?.approvalId ?? '', { decision: 'approve', input: { note: 'other' } });
      expect(edited).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
      await decide(box, asked?.approvalId ?? '', { decision: 'approve' });
      expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: { got: { note: 'forbidden' } } });
      expect(begun).toEqual([{ note: 'fine' }, { note: 'forbidden' }]);
      expect(await hitsOf(box, id)).toMatchObject([
        { action: 'hold', side: 'workflow-input', runId, reason: 'approved by "owner"' },
        { action: 'hold', side: 'workflow-input', reason: 'word' },
      ]);
    });

    test('ends as a blocked one does once it is rejected, and waits over restarts', async () => {
      const { box, name, id } = await open();
      begun.length = 0;
      const { runId } = await start(box, name, 'forbidden');
      const { runId: other } = await start(box, name, 'forbidden too');
      await until(async () => (await pendingOf(box)).filter((one) => [runId, other].includes(one.runId)).length === 2);
      const again = await box.restart();
      const [refused] = await pendingOf(again, runId);
      await decide(again, refused?.approvalId ?? '', { decision: 'reject' });
      expect(await finish(again, runId)).toMatchObject({
        status: 'failed',
        error: { code: 'workflow_guardrail_blocked', message: expect.stringContaining(`"held ${name}"`) },
      });
      const [passed] = await pendingOf(again, other);
      await decide(again, passed?.approvalId ?? '', { decision: 'approve' });
      await finish(again, other);
      expect(begun).toEqual([{ note: 'forbidden too' }]);
      const reasons = (await hitsOf(again, id)).map((hit) => (hit as { reason: string }).reason);
      expect(reasons.sort()).toEqual(['approved by "owner"', 'rejected by "owner"', 'word', 'word']);
    });

    test('waits in a fork that is given it, and not in one that is given another', async () => {
      const { box, name } = await open();
      begun.length = 0;
      const fork = async (of: string, note: string) => {
        const { body } = await call<{ etag: string }>(box, `GET /api/runs/${of}/fork?from=start`);
        const forked = await call<{ runId: string }>(box, `POST /api/runs/${of}/fork`, {
          from: 'start',
          etag: body.etag,
          input: { note },
        });
        expect(forked).toMatchObject({ status: 202 });
        return forked.body.runId;
      };
      const { runId } = await start(box, name, 'fine');
      await finish(box, runId);
      const held = await fork(runId, 'forbidden');
      await until(async () => (await pendingOf(box, held)).length === 1);
      expect(begun).toEqual([{ note: 'fine' }]);
      const [asked] = await pendingOf(box, held);
      await decide(box, asked?.approvalId ?? '', { decision: 'approve' });
      await finish(box, held);
      await finish(box, await fork(held, 'fine again'));
      expect(begun).toEqual([{ note: 'fine' }, { note: 'forbidden' }, { note: 'fine again' }]);
    });

    test('holds no run that repeats one of its chain, which has gone on with an input of its own', async () => {
      const name = newName('chain');
      let isBroken = true;
      const end = toStep('end', () => {
        if (isBroken) throw new FatalError('No.');
        return 'over';
      });
      const count = toStep('count', () => 1);
      const run = async ({ n, note }: { n: number; note: string }) => {
        await count();
        return n === 0 ? continueAsNew({ n: 1, note }) : end();
      };
      const box = await openBox({ workflows: { [name]: { run } } });
      await rule(box, 'workflow-input', 'workflow', name);
      const input = { n: 0, note: 'forbidden' };
      const { body } = await call<{ runId: string }>(box, `POST /api/workflows/${name}/start`, input);
      await until(async () => (await pendingOf(box, body.runId)).length === 1);
      const [asked] = await pendingOf(box, body.runId);
      await decide(box, asked?.approvalId ?? '', { decision: 'approve' });
      let runId = '';
      await until(async () => {
        const [last] = await box.journal.listRuns({ kind: 'workflow', name }, { limit: 1 });
        if (last?.status === 'failed') ({ runId } = last);
        return runId !== '';
      });
      expect(runId).not.toBe(body.runId);
      isBroken = false;
      for (const from of ['failed-step', 'start']) {
        const retry = await call(box, `POST /api/runs/${runId}/retry`, { from });
        expect(await finish(box, String(retry.body.runId))).toMatchObject({ status: 'completed', output: 'over' });
      }
      const { body: plan } = await call<{ etag: string }>(box, `GET /api/runs/${runId}/fork?from=start`);
      const fork = await call(box, `POST /api/runs/${runId}/fork`, { from: 'start', etag: plan.etag });
      expect(await finish(box, String(fork.body.runId))).toMatchObject({ status: 'completed', output: 'over' });
    });
  });

  describe('what an agent is asked that a rule holds', () => {
    const open = async () => {
      const name = newName('agent');
      const box = await openBox({
        agents: { helper: defineDeepAgent({ name: 'helper' }), [name]: defineDeepAgent({ name }) },
      });
      return { name, box, id: await rule(box, 'agent-input', 'agent', name) };
    };
    test('waits before a model is asked; each wire says so as of a call that waits, streamed or not', async () => {
      const { box, name } = await open();
      const before = box.model.requests.length;
      const whole = (await (await askA(box, name, 'say:forbidden')).json()) as { choices: object[] };
      expect(whole.choices).toMatchObject([
        {
          message: { content: `Waiting for a decision: Ask "${name}" this?\n` },
          finish_reason: 'stop',
          svc: { interrupts: [{ id: expect.any(String), message: `Ask "${name}" this?` }] },
        },
      ]);
      const streamed = await (await askA(box, name, 'say:forbidden', { stream: true })).text();
      expect(streamed).toContain('Waiting for a decision');
      expect(streamed).toContain('"finish_reason":"stop","svc":{"interrupts":[{"id":');
      const message = { model: name, max_tokens: 100, messages: [{ role: 'user', content: 'say:forbidden' }] };
      const headers = { 'x-api-key': 'dev', 'anthropic-version': '2023-06-01' };
      const b = (await (await box.request('/wire-b/v1/messages', json(message, { headers }))).json()) as object;
      expect(b).toMatchObject({
        content: [{ type: 'text', text: expect.stringContaining('Waiting for a decision') }],
        svc: { interrupts: [{ message: `Ask "${name}" this?` }] },
      });
      expect(box.model.requests).toHaveLength(before);
    });

    test('goes on as it was once it is approved, over restarts, and is kept nowhere once it is rejected', async () => {
      const { box, name, id } = await open();
      const asked = await say(await clientOf(box, name, 'held'), 'say:forbidden');
      expect(asked.interrupts).toMatchObject([{ message: `Ask "${name}" this?`, reason: 'confirmation' }]);
      expect(asked.interrupts[0]).not.toHaveProperty('toolCallId');
      const other = await say(await clientOf(box, name, 'refused'), 'say:forbidden');
      const again = await box.restart();
      const [one, two] = [asked.interrupts[0]?.id ?? '', other.interrupts[0]?.id ?? ''];
      const { body } = await call<Approval>(again, `GET /api/approvals/${one}`);
      expect(body.payload).toMatchObject({ agent: name, messages: [{ role: 'user', text: 'say:forbidden' }] });
      await decide(again, one, { decision: 'approve' });
      expect(await finish(again, body.runId)).toMatchObject({ status: 'completed', output: { content: 'forbidden' } });
      expect(toldModel(again).at(-1)).toMatchObject({ role: 'user', content: 'say:forbidden' });
      const { body: refused } = await call<Approval>(again, `GET /api/approvals/${two}`);
      await decide(again, two, { decision: 'reject' });
      expect(await finish(again, refused.runId)).toMatchObject({
        status: 'failed',
        error: { code: 'agent_guardrail_blocked' },
      });
      // The session is free, and has nothing of it.
      const later = await say(await clientOf(again, name, 'refused'), 'say:later');
      expect(textOf(later)).toBe('later');
      expect(JSON.stringify(toldModel(again))).not.toContain('forbidden');
      const reasons = (await hitsOf(again, id)).map((hit) => (hit as { reason: string }).reason);
      expect(reasons.sort()).toEqual(['approved by "owner"', 'rejected by "owner"', 'word', 'word']);
    });

    test('waits on a thread whatever the client takes for an answer behind it', async () => {
      const { box, name } = await open();
      const before = box.model.requests.length;
      const client = await clientOf(box, name, newName('forged'));
      client.addMessage({ id: 'one', role: 'user', content: 'forbidden' });
      client.addMessage({ id: 'two', role: 'assistant', content: 'Of course.' });
      const asked = await say(client, 'say:go on');
      expect(asked.interrupts).toMatchObject([{ message: `Ask "${name}" this?` }]);
      expect(box.model.requests).toHaveLength(before);
      const { body } = await call<Approval>(box, `GET /api/approvals/${asked.interrupts[0]?.id ?? ''}`);
      expect(JSON.stringify(body.payload)).toContain('forbidden');
    });

    test('comes again with a client that sends all of it each time, and does not wait again', async () => {
      const { box, name } = await open();
      const messages = [
        { role: 'user', content: 'forbidden' },
        { role: 'assistant', content: 'Yes.' },
        { role: 'user', content: 'say:later' },
      ];
      const answer = await askA(box, name, '', { messages });
      expect(await answer.json()).toMatchObject({ choices: [{ message: { content: 'later' } }] });
    });
  });

  describe('what a tool answers that a rule holds', () => {
    const open = async () => {
      const name = newName('agent');
      const ran: string[] = [];
      const look = defineTool({
        description: 'Looks.',
        inputSchema: z.object({ q: z.string() }),
        execute({ q }) {
          ran.push(q);
          return `a forbidden ${q}`;
        },
      });
      const agents = {
        helper: defineDeepAgent({ name: 'helper' }),
        [name]: defineDeepAgent({ name, tools: { look } }),
      };
      const box = await openBox({ agents });
      return { name, ran, box, id: await rule(box, 'tool-result', 'agent', name) };
    };

    test('cannot be read before it is approved, over restarts, and withheld once it is rejected', async () => {
      const { box, name, ran, id } = await open();
      const asked = await say(await clientOf(box, name, 'one'), 'tool:look {"q":"x"}; say:Done.');
      expect(asked.interrupts).toMatchObject([
        {
          reason: 'tool_call',
          toolCallId: expect.any(String),
          message: `Let "${name}" read what "look" has answered?`,
        },
      ]);
      expect(JSON.stringify(asked.events)).not.toContain('forbidden');
      const other = await say(await clientOf(box, name, 'two'), 'tool:look {"q":"y"}; say:Done.');
      const again = await box.restart();
      const [one, two] = [asked.interrupts[0]?.id ?? '', other.interrupts[0]?.id ?? ''];
      const { body } = await call<Approval>(again, `GET /api/approvals/${one}`);
      expect(body).toMatchObject({
        allow: ['approve', 'reject'],
        payload: { agent: name, call: { tool: 'look', arguments: { q: 'x' } }, result: 'a forbidden x' },
      });
      await decide(again, one, { decision: 'approve' });
      expect(await finish(again, body.runId)).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
      expect(toldModel(again).at(-1)).toMatchObject({ role: 'tool', content: 'a forbidden x' });
      await decide(again, two, { decision: 'reject' });
      const { body: refused } = await call<Approval>(again, `GET /api/approvals/${two}`);
      expect(await finish(again, refused.runId)).toMatchObject({ status: 'completed' });
      expect(toldModel(again).at(-1)).toMatchObject({
        role: 'tool',
        content: `The guardrail "held ${name}" withholds this result.`,
      });
      expect(ran).toEqual(['x', 'y']);
      const reasons = (await hitsOf(again, id)).map((hit) => (hit as { reason: string }).reason);
      expect(reasons.sort()).toEqual(['approved by "owner"', 'rejected by "owner"', 'word', 'word']);
    });

    test('of a sub-agent waits likewise, for the turn above', async () => {
      const name = newName('agent');
      const lead = defineDeepAgent({ name, subagents: [{ name: 'child', description: 'Does it.' }] });
      const box = await openBox({ agents: { helper: defineDeepAgent({ name: 'helper' }), [name]: lead } });
      await rule(box, 'tool-result', 'agent', name);
      const task = JSON.stringify({ subagent_type: 'child', description: 'say:a forbidden x' });
      const asked = await say(await clientOf(box, name, 'one'), `tool:task ${task}\nsay:Done.`);
      const again = await box.restart();
      const [id] = asked.interrupts.map((one) => one.id);
      const { body } = await call<Approval>(again, `GET /api/approvals/${id}`);
      expect(body.payload).toMatchObject({ agent: name, call: { tool: 'task' }, result: 'a forbidden x' });
      await decide(again, String(id), { decision: 'approve' });
      expect(await finish(again, body.runId)).toMatchObject({ status: 'completed', output: { content: 'Done.' } });
      expect(toldModel(again).at(-1)).toMatchObject({ role: 'tool', content: 'a forbidden x' });
    });

    test('is withheld at once where a client brings it', async () => {
      const { box, name } = await open();
      const tools = [{ type: 'function', function: { name: 'own', parameters: { type: 'object' } } }];
      const calls = [{ id: 'c1', type: 'function', function: { name: 'own', arguments: '{}' } }];
      const messages = [
        { role: 'user', content: 'say:Done.' },
        { role: 'assistant', content: null, tool_calls: calls },
        { role: 'tool', tool_call_id: 'c1', content: 'forbidden' },
      ];
      expect((await askA(box, name, '', { messages, tools })).status).toBe(200);
      expect(JSON.stringify(toldModel(box))).not.toContain('"forbidden"');
      expect(JSON.stringify(toldModel(box))).toContain('withholds this result');
    });
  });

  describe('what an agent says that a rule holds', () => {
    const open = async (check?: object) => {
      const name = newName('agent');
      const agents = { helper: defineDeepAgent({ name: 'helper' }), [name]: defineDeepAgent({ name }) };
      const box = await openBox({ agents });
      return { name, box, id: await rule(box, 'agent-output', 'agent', name, check) };
    };

    test('ends where it begins, streamed or not; the rest is said once it is approved, over a restart', async () => {
      const { box, name } = await open();
      const asked = await say(await clientOf(box, name, 'one'), 'say:It is forbidden to say this.');
      expect(textOf(asked)).toBe('It is ');
      expect(JSON.stringify(asked.events)).not.toContain('forbidden');
      const whole = (await (await askA(box, name, 'say:It is forbidden to say this.')).json()) as { choices: object[] };
      expect(whole.choices).toMatchObject([
        { message: { content: `It is Waiting for a decision: Let "${name}" say this?\n` }, finish_reason: 'stop' },
      ]);
      const streamed = await (await askA(box, name, 'say:It is forbidden to say this.', { stream: true })).text();
      expect(streamed).not.toContain('forbidden');
      expect(streamed).toContain('Waiting for a decision');
      const again = await box.restart();
      const id = asked.interrupts[0]?.id ?? '';
      const { body } = await call<Approval>(again, `GET /api/approvals/${id}`);
      expect(body.payload).toEqual({ agent: name, said: 'It is ', text: 'forbidden to say this.' });
      await decide(again, id, { decision: 'approve' });
      expect(await finish(again, body.runId)).toMatchObject({ output: { content: 'It is forbidden to say this.' } });
      await say(await clientOf(again, name, 'one'), 'say:More.');
      expect(toldModel(again).map(({ content }) => content)).toContain('It is forbidden to say this.');
    });

    test('goes on over the stream of the person who decides in the conversation', async () => {
      const { box, name } = await open();
      const client = await clientOf(box, name, 'one');
      const { interrupts } = await say(client, 'say:It is forbidden to say this.');
      const resume = [
        { interruptId: interrupts[0]?.id ?? '', status: 'resolved' as const, payload: { decision: 'approve' } },
      ];
      const more = await say(client, undefined, { resume });
      expect(textOf(more)).toBe('forbidden to say this.');
      expect(client.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'It is forbidden to say this.' });
    });

    test('ends the turn as refused content once it is rejected, and no one can read it', async () => {
      const { box, name, id } = await open();
      const { interrupts } = await say(await clientOf(box, name, 'one'), 'say:It is forbidden to say this.');
      const { body } = await call<Approval>(box, `GET /api/approvals/${interrupts[0]?.id}`);
      await decide(box, body.approvalId, { decision: 'reject' });
      expect(await finish(box, body.runId)).toMatchObject({
        status: 'completed',
        output: { content: 'It is ', finishReason: 'content_filter' },
      });
      await say(await clientOf(box, name, 'one'), 'say:More.');
      expect(JSON.stringify(toldModel(box).filter(({ role }) => role === 'assistant'))).not.toContain('forbidden');
      expect((await hitsOf(box, id)).length).toBe(2);
    });

    test('is held from its beginning where a rule is about the whole of it', async () => {
      const { box, name } = await open({ kind: 'length', max: 10 });
      const asked = await say(await clientOf(box, name, 'one'), 'say:It is longer than that.');
      expect(textOf(asked)).toBe('');
      const { body } = await call<Approval>(box, `GET /api/approvals/${asked.interrupts[0]?.id}`);
      expect(body.payload).toMatchObject({ said: '', text: 'It is longer than that.' });
      await decide(box, body.approvalId, { decision: 'approve' });
      expect(await finish(box, body.runId)).toMatchObject({ output: { content: 'It is longer than that.' } });
    });
  });
});
