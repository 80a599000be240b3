import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { ROLES } from '../src/auth/permissions.ts';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { createLog } from '../src/log.ts';
import { OPERATIONS } from '../src/surface/index.ts';
import {
  answersOf,
  codeOf,
  confirm,
  decide,
  inTurn,
  read,
  reasonOf,
  startPlayedModel,
  talk,
  use,
  write,
} from './_copilot.ts';
import type { PlayedModel, Told, ToolUse } from './_copilot.ts';
import { startPlane } from './_plane.ts';
import type { Plane } from './_plane.ts';
import { call, getRun, setupBoxes, startWorkflow, toProgram } from './_setup.ts';
import type { TestBox, TestBoxOptions } from './_setup.ts';

const boxes = setupBoxes();
const log = createLog({ level: 'silent', write: () => {} });
let plane: Plane;
let model: PlayedModel;
beforeAll(async () => {
  plane = await startPlane();
  model = await startPlayedModel();
});
afterAll(async () => {
  await plane.close();
  await model.close();
});

type Headers = Record<string, string>;
const as = async (role: string, sub = role): Promise<Headers> => ({
  authorization: `Bearer ${await plane.mint(role, { claims: { sub, name: sub } })}`,
});

const OFF = { workflows: { rest: { run: async () => createHook() } } };

async function open(options: TestBoxOptions = {}, headers?: Headers): Promise<TestBox> {
  const box = await boxes.open({ ...OFF, ...options, provider: { baseUrl: model.url, apiKey: 'key' } });
  await call(box, 'PUT /api/settings/copilot', { enabled: true }, headers);
  return box;
}

const deployed = (): TestBoxOptions => ({ options: { host: 'image', strategy: plane.strategy({ log }) } });
const toolsOfferedLast = (): string[] => (model.asked.at(-1)?.tools ?? []).map((tool) => tool.function.name);
const systemLast = (): string => String(model.asked.at(-1)?.messages[0]?.content);
const statusOf = async (box: TestBox, id: string) => (await getRun(box, id)).status;

/** A run that waits, and a turn that waits for the person to confirm its cancellation. */
async function askToCancel(box: TestBox, thread: string, headers?: Headers) {
  const id = await startWorkflow(box, 'rest');
  model.play = inTurn(write('runs.cancel', { id }), confirm, (last) =>
    codeOf(last) === 'confirmation_required' ? confirm(last) : 'Over.',
  );
  const told = await talk(box, thread, { text: 'Cancel it.', ...(headers ? { headers } : {}) });
  return { id, told };
}

describe('the switch', () => {
  test('is off in a new workspace, and the copilot refuses to answer; switched off, nothing is deleted', async () => {
    const box = await boxes.open({ ...OFF, provider: { baseUrl: model.url, apiKey: 'key' } });
    const switchTo = (enabled: boolean) => call(box, 'PUT /api/settings/copilot', { enabled });
    expect((await call(box, 'GET /api/settings')).body.copilot).toEqual({ enabled: false });
    expect(await talk(box, 't', { text: 'Hello' })).toMatchObject({ status: 403, error: 'copilot_disabled' });
    await switchTo(true);
    await talk(box, 't', { text: 'Hello' });
    expect((await switchTo(false)).body.copilot).toEqual({ enabled: false });
    expect(await talk(box, 't', { text: 'Hello' })).toMatchObject({ status: 403, error: 'copilot_disabled' });
    const sessions = await call<{ items: { agent: string }[] }>(box, 'GET /api/sessions');
    expect(sessions.body.items.map(({ agent }) => agent)).toEqual(['studio-copilot']);
    await switchTo(true);
    expect((await talk(box, 't', { text: 'Hello' })).text).toBe('Hello.');
  });

  test('is seen by every role, and turned by owners and admins', async () => {
    const box = await open(deployed(), await as('owner'));
    for (const role of ROLES) {
      const headers = await as(role);
      const seen = await call(box, 'GET /api/settings', undefined, headers);
      const { status } = await call(box, 'PUT /api/settings/copilot', { enabled: true }, headers);
      expect([role, seen.status, seen.body.copilot, status]).toEqual([
        role,
        200,
        { enabled: true },
        ['owner', 'admin'].includes(role) ? 200 : 403,
      ]);
    }
  });
});

describe('the built-in copilot', () => {
  test('has its tools, its instructions, and of what the client says the pointer alone', async () => {
    const box = await open();
    const pointer = { screen: 'run', title: 'Run', runId: 'r-1', tag: 'runs', role: 'owner', data: 'shown on screen' };
    const context = [
      { description: 'pointer', value: JSON.stringify(pointer) },
      { description: 'the table', value: 'rows on screen' },
    ];
    model.play = () => 'Hello.';
    await talk(box, 't', { text: 'Hi', context, tools: [{ name: 'navigate', description: 'Open a screen.' }] });
    expect(toolsOfferedLast()).toEqual([
      'list_operations',
      'describe_operation',
      'call_read_operation',
      'call_write_operation',
      'confirm_operation',
      'navigate',
    ]);
    expect(systemLast()).toContain('You are the copilot of one installation');
    expect(systemLast()).toContain('"runId":"r-1"');
    expect(systemLast()).not.toMatch(/on screen"|rows on screen/);
  });

  test('answers by the prompt that is published for it', async () => {
    const box = await open();
    const key = { ownerKind: 'agent', ownerName: 'studio-copilot', key: 'instructions' };
    const { body } = await call<{ id: string }>(box, 'POST /api/prompts', {
      ...key,
      name: 'Copilot',
      text: 'Be brief.',
    });
    onTestFinished(async () => void (await call(box, `DELETE /api/prompts/${body.id}`)));
    await call(box, `POST /api/prompts/${body.id}/publish`, { version: 1 });
    model.play = () => 'Hello.';
    await talk(box, 't', { text: 'Hi' });
    expect(systemLast()).toBe('Be brief.');
  });

  test('takes the model of its catalog entry, else the default model; with neither it names the settings screen', async () => {
    const box = await open({ defaultModel: '' });
    const none = await talk(box, 't', { text: 'Hi' });
    expect([none.status, none.error]).toEqual([503, 'model_not_selected']);
    const body = { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Hi' }] };
    const refused = await call(box, 'POST /agui/v1/agents/studio-copilot', body, { authorization: 'Bearer dev' });
    expect(refused.body.message).toContain('Settings screen');
    await call(box, 'PATCH /api/settings', { defaultModel: 'v/default' });
    model.play = () => 'Hello.';
    await talk(box, 't', { text: 'Hi' });
    expect(model.asked.at(-1)?.model).toBe('v/default');
    await call(box, 'PATCH /api/catalog/agent/studio-copilot', { model: 'v/picked' });
    await talk(box, 't', { text: 'Hi' });
    expect(model.asked.at(-1)?.model).toBe('v/picked');
  });

  test('is in no list but the catalog with system entries', async () => {
    const box = await open();
    const names = async (query: string) =>
      (await call<{ items: { name: string }[] }>(box, `GET /api/catalog?${query}`)).body.items.map(({ name }) => name);
    expect(box.agentNames()).toEqual([]);
    expect((await call(box, 'GET /api/discovery')).body.agents).toEqual([]);
    for (const wire of ['wire-a', 'wire-b']) {
      const models = await call<{ data: unknown[] }>(box, `GET /${wire}/v1/models`, undefined, {
        authorization: 'Bearer d',
      });
      expect([wire, models.body.data]).toEqual([wire, []]);
    }
    expect((await names('kind=agent')).concat(await names('kind=tool'))).toEqual([]);
    expect(await names('kind=agent&system=true')).toEqual(['studio-copilot']);
    expect(await names('kind=tool&system=true')).toContain('studio-copilot:confirm_operation');
  });

  test('is for people: no key talks to it', async () => {
    const box = await open(deployed(), await as('owner'));
    const grants = { agents: 'all', workflows: [] };
    const { body } = await call<{ value: string }>(box, 'POST /api/keys', { name: 'k', grants }, await as('owner'));
    const headers = { authorization: `Bearer ${body.value}` };
    expect(await talk(box, 't', { text: 'Hi', headers })).toMatchObject({ status: 403, error: 'forbidden' });
  });

  test('stops after 40 steps, and a confirmation opens 40 more', async () => {
    const box = await open();
    const id = await startWorkflow(box, 'rest');
    const from = model.asked.length;
    let rounds = 0;
    model.play = (_asked, results): ToolUse[] => {
      rounds += 1;
      if (rounds === 15) return write('runs.cancel', { id });
      const last = results.at(-1);
      return codeOf(last) === 'confirmation_required' ? confirm(last ?? {}) : use('list_operations', { tag: 'jobs' });
    };
    const told = await talk(box, 't', { text: 'Go on and on.' });
    expect([told.interrupts.length, model.asked.length - from]).toEqual([1, 16]);
    const more = await decide(box, 't', told, { decision: 'approve' });
    expect([more.text, model.asked.length - from]).toEqual(['The turn stopped after 40 steps.', 36]);
    expect(await statusOf(box, id)).toBe('cancelled');
  });

  test('has 40 steps more once the page has opened a screen for it', async () => {
    const box = await open();
    const from = model.asked.length;
    let rounds = 0;
    model.play = () =>
      ++rounds === 15 ? use('navigate', { screen: 'runs' }) : use('list_operations', { tag: 'jobs' });
    const tools = [{ name: 'navigate', description: 'Open a screen.', parameters: { type: 'object', properties: {} } }];
    const asked = await talk(box, 't', { text: 'Go on and on.', tools });
    const { toolCallId } = asked.events.findLast(({ type }) => type === 'TOOL_CALL_START') ?? {};
    expect(model.asked.length - from).toBe(15);
    const messages = [{ id: 'opened', role: 'tool', toolCallId, content: 'Opened Runs.' }];
    const more = await talk(box, 't', { messages, tools });
    expect([more.text, model.asked.length - from]).toEqual(['The turn stopped after 40 steps.', 35]);
  });
});

describe('a thread', () => {
  test('takes messages from any holder of its id, who reads what was said there', async () => {
    const box = await open(deployed(), await as('owner'));
    model.play = () => 'Hello.';
    const [ann, bob] = [await as('admin', 'ann'), await as('member', 'bob')];
    await talk(box, 'held', { text: 'The word is heron.', headers: ann });
    const told = await talk(box, 'held', { text: 'What is the word?', headers: bob });
    const heard = model.asked.at(-1)?.messages.map(({ content }) => content);
    expect(heard).toEqual([expect.any(String), 'The word is heron.', 'Hello.', 'What is the word?']);
    expect(JSON.stringify(told.events)).toContain('The word is heron.');
    const { items } = (await call<{ items: { name: string }[] }>(box, 'GET /api/sessions', undefined, ann)).body;
    expect(items.filter(({ name }) => name === 'held')).toMatchObject([{ turns: 2 }]);
    await talk(box, 'of bob', { text: 'Hi', headers: bob });
    expect(model.asked.at(-1)?.messages.length).toBe(2);
  });

  test('is decided about by who asked, not by who holds its id', async () => {
    const box = await open(deployed(), await as('owner'));
    const { runId: id } = (await call(box, 'POST /api/workflows/rest/start', {}, await as('owner'))).body;
    model.play = inTurn(write('runs.cancel', { id }), confirm);
    const told = await talk(box, 'asked', { text: 'Cancel it.', headers: await as('admin', 'ann') });
    const refused = await decide(box, 'asked', told, { decision: 'approve' }, await as('owner', 'olga'));
    expect(refused).toMatchObject({ status: 403, error: 'decision_not_yours' });
    expect((await call(box, `GET /api/runs/${id}`, undefined, await as('owner'))).body.status).toBe('waiting');
    await decide(box, 'asked', told, { decision: 'approve' }, await as('admin', 'ann'));
    expect((await call(box, `GET /api/runs/${id}`, undefined, await as('owner'))).body.status).toBe('cancelled');
  });

  test.each(['reject', 'approve', 'edit', 'cancelled'])(
    'is not answered "%s" by who holds its id and does not see the conversation',
    async (decision) => {
      const box = await open(deployed(), await as('owner'));
      const [ann, olga] = [await as('member', 'ann'), await as('owner', 'olga')];
      const { runId: id } = (await call(box, 'POST /api/workflows/rest/start', {}, ann)).body;
      model.play = inTurn(write('runs.cancel', { id }), confirm);
      const thread = `kept from ${decision}`;
      const told = await talk(box, thread, { text: 'Cancel it.', headers: ann });
      const [{ id: interruptId, metadata }] = told.interrupts as [Told['interrupts'][number]];
      const readApproval = async () => (await call(box, `GET /api/approvals/${interruptId}`, undefined, ann)).body;
      const answer =
        decision === 'cancelled'
          ? { interruptId, status: decision }
          : {
              interruptId,
              status: 'resolved',
              payload: { decision, ...(decision === 'edit' ? { input: metadata.svc.arguments } : {}) },
            };
      for (const role of ['viewer', 'approver', 'member']) {
        const refused = await talk(box, thread, { resume: [answer], headers: await as(role, `other ${role}`) });
        expect([role, refused.status, refused.error]).toEqual([role, 403, 'decision_not_yours']);
      }
      expect(await readApproval()).toMatchObject({ status: 'pending', decidedBy: null });
      // Who sees the conversations of all may end what waits there.
      expect((await call(box, `POST /api/approvals/${interruptId}/decide`, { decision: 'reject' }, olga)).status).toBe(
        200,
      );
      expect(await readApproval()).toMatchObject({ status: 'rejected', decidedBy: 'olga' });
    },
  );
});

describe('what it calls', () => {
  test('is of its installation alone, whatever address it is given', async () => {
    const box = await open();
    const calls = [
      read('runs.list', { installation: 'other' }),
      read('runs.list', { url: 'https://other.example' }),
      read('https://other.example/api/runs', {}),
      read('runs.get', { id: 'https://other.example/api/runs/1' }),
      read('runs.get', { id: '../../other/api/runs/1' }),
    ].flat();
    model.play = (_asked, results) => (results.length > 0 ? 'Done.' : calls);
    const { results } = await talk(box, 't', { text: 'Look at the other one.' });
    expect(results.map(codeOf).toSorted()).toEqual([
      'invalid_request',
      'invalid_request',
      'not_found',
      'run_not_found',
      'run_not_found',
    ]);
  });

  test('is no stream, no secret, no upload and no pause of its own', async () => {
    const box = await open();
    const refused = OPERATIONS.filter(({ copilot }) => copilot !== 'yes');
    const calls = refused.map(({ id, kind }) => ({ tool: `call_${kind}_operation`, args: { operation: id } }));
    model.play = (_asked, results) => (results.length > 0 ? 'Done.' : calls);
    const answered = answersOf(await talk(box, 'refused', { text: 'Try.' }));
    expect(refused.map(({ id }) => [id, codeOf(answered.get(id))])).toEqual(refused.map(({ id }) => [id, 'forbidden']));
    const { told } = await askToCancel(box, 'own');
    const approvalId = told.interrupts[0]?.id;
    model.play = inTurn(write('approvals.decide', { id: approvalId, decision: 'approve' }), confirm);
    const other = await talk(box, 'other', { text: 'Approve it for me.' });
    const { results } = await decide(box, 'other', other, { decision: 'approve' });
    expect(codeOf(results[0])).toBe('decision_not_yours');
    const inbox = await call<{ items: unknown[] }>(box, 'GET /api/approvals');
    expect(inbox.body.items).toEqual([]);
  });

  test('is in the activity log as the person’s, through the copilot', async () => {
    const box = await open(deployed(), await as('owner'));
    const headers = await as('member', 'ann');
    model.play = inTurn(write('settings.update', { name: 'Shop' }), read('settings.get', {}));
    const { results } = await talk(box, 't', { text: 'Name it Shop.', headers });
    expect(results.map(({ name }) => name)).toEqual(['Shop', 'Shop']);
    const { body } = await call<{ items: unknown[] }>(
      box,
      'GET /api/activity?operation=settings.update',
      undefined,
      headers,
    );
    expect(body.items.slice(0, 1)).toMatchObject([{ actor: { id: 'person ann' }, source: 'copilot' }]);
  });
});

describe('a marked write', () => {
  test('runs nothing until the person approves, then runs once', async () => {
    const box = await open();
    const { id, told } = await askToCancel(box, 't');
    expect(told.results[0]).toMatchObject({
      code: 'confirmation_required',
      message: expect.stringContaining(`"runs.cancel" with {"id":"${id}"}`),
      details: { call: { operation: 'runs.cancel', input: { id } }, expiresAt: expect.stringMatching(/Z$/) },
      requestState: expect.stringMatching(/^v1\./),
    });
    expect(told.interrupts[0]?.metadata.svc.arguments).toMatchObject({ operation: 'runs.cancel', input: { id } });
    expect(await statusOf(box, id)).not.toBe('cancelled');
    const done = await decide(box, 't', told, { decision: 'approve' });
    expect([done.results[0]?.status ?? codeOf(done.results[0]), done.text]).toEqual(['cancelled', 'Over.']);
    expect(await statusOf(box, id)).toBe('cancelled');
  });

  test('that is rejected runs nothing, and the copilot stops', async () => {
    const box = await open();
    const { id, told } = await askToCancel(box, 't');
    const from = model.asked.length;
    const done = await decide(box, 't', told, { decision: 'reject' });
    expect([done.text, model.asked.length - from]).toEqual(['You said no, so that call did not run.', 0]);
    expect(await statusOf(box, id)).not.toBe('cancelled');
    expect((await talk(box, 't', { text: 'Hello' })).error).toBeUndefined();
  });

  test('that is edited is asked about again, and the edited call runs', async () => {
    const box = await open();
    const { id, told } = await askToCancel(box, 't');
    const other = await startWorkflow(box, 'rest');
    const asked = told.interrupts[0]?.metadata.svc.arguments;
    const edited = { decision: 'edit', input: { ...asked, input: { id: other } } };
    const again = await decide(box, 't', told, edited);
    expect([codeOf(again.results[0]), reasonOf(again.results[0]), again.interrupts.length]).toEqual([
      'confirmation_required',
      'other_call',
      1,
    ]);
    await decide(box, 't', again, { decision: 'approve' });
    expect([(await statusOf(box, id)) === 'cancelled', await statusOf(box, other)]).toEqual([false, 'cancelled']);
  });

  test('that is edited into what cannot run is refused without a second panel', async () => {
    const box = await open();
    const { id, told } = await askToCancel(box, 't');
    const asked = told.interrupts[0]?.metadata.svc.arguments;
    const edited = { decision: 'edit', input: { ...asked, input: { id, nonsense: 1 } } };
    const { results, interrupts } = await decide(box, 't', told, edited);
    expect([codeOf(results[0]), interrupts]).toEqual(['invalid_request', []]);
    expect(await statusOf(box, id)).not.toBe('cancelled');
  });

  test('meets the role after the approval', async () => {
    const box = await open(deployed(), await as('owner'));
    const { runId: id } = (await call(box, 'POST /api/workflows/rest/start', {}, await as('owner'))).body;
    model.play = inTurn(write('runs.cancel', { id }), confirm);
    const headers = await as('viewer');
    const told = await talk(box, 't', { text: 'Cancel it.', headers });
    expect([codeOf(told.results[0]), told.interrupts.length]).toEqual(['confirmation_required', 1]);
    const { results } = await decide(box, 't', told, { decision: 'approve' }, headers);
    expect(results[0]).toMatchObject({ code: 'forbidden', details: { permission: 'runs:cancel', role: 'viewer' } });
  });

  test('is approved by who asked, with the role they asked with', async () => {
    const box = await open(deployed(), await as('owner'));
    const { runId: id } = (await call(box, 'POST /api/workflows/rest/start', {}, await as('owner'))).body;
    model.play = inTurn(write('runs.cancel', { id }), confirm);
    const told = await talk(box, 't', { text: 'Cancel it.', headers: await as('admin', 'ann') });
    const route = `POST /api/approvals/${told.interrupts[0]?.id}/decide`;
    const body = { decision: 'approve' };
    const codes = [];
    for (const headers of [await as('owner', 'olga'), await as('owner', 'ann')])
      codes.push((await call(box, route, body, headers)).body.code);
    expect(codes).toEqual(['decision_not_yours', 'decision_not_yours']);
    expect((await call(box, route, body, await as('admin', 'ann'))).status).toBe(200);
  });

  test('that is approved after 90 seconds is asked about again, and says why', async () => {
    let skew = 0;
    const start = Date.now();
    const clock = { now: () => start + skew, sync: async () => {} };
    const box = await open({ options: { engine: { clock } } });
    const { id, told } = await askToCancel(box, 't');
    skew = 90_000;
    const again = await decide(box, 't', told, { decision: 'approve' });
    expect([reasonOf(again.results[0]), again.interrupts.length, await statusOf(box, id)]).toEqual([
      'expired',
      1,
      'waiting',
    ]);
    await decide(box, 't', again, { decision: 'approve' });
    expect(await statusOf(box, id)).toBe('cancelled');
  });

  test('that is approved after a restart is asked about again, and says why', async () => {
    const first = await open();
    const { id, told } = await askToCancel(first, 't');
    const box = await first.restart();
    const again = await decide(box, 't', told, { decision: 'approve' });
    expect([reasonOf(again.results[0]), again.interrupts.length]).toEqual(['unknown', 1]);
    await decide(box, 't', again, { decision: 'approve' });
    expect(await statusOf(box, id)).toBe('cancelled');
  });

  test('is confirmed by a state once', async () => {
    const box = await open();
    const { told } = await askToCancel(box, 't');
    const args = told.interrupts[0]?.metadata.svc.arguments ?? {};
    await decide(box, 't', told, { decision: 'approve' });
    model.play = inTurn(use('confirm_operation', args));
    const second = await talk(box, 'u', { text: 'Once more.' });
    const { results } = await decide(box, 'u', second, { decision: 'approve' });
    expect([codeOf(results[0]), reasonOf(results[0])]).toEqual(['confirmation_required', 'used']);
  });
});

describe('an agent of the workspace with its name', () => {
  const note = defineTool({ description: 'Note.', inputSchema: z.object({}), execute: () => 'noted' });
  const own = (tools: Record<string, typeof note> = { note }) =>
    defineDeepAgent({ name: 'studio-copilot', instructions: 'Mine.', tools, maxSteps: 3 });
  const offered = ['note', 'list_operations', 'describe_operation', 'call_read_operation', 'call_write_operation'];

  test('takes its place on the next reload, and the built-in comes back when it is gone', async () => {
    const box = await open();
    model.play = () => 'Hello.';
    await box.reload(toProgram({ ...OFF, agents: { 'studio-copilot': own() } }));
    const context = [{ description: 'pointer', value: '{"screen":"runs"}' }];
    await talk(box, 't', { text: 'Hi', context });
    expect([toolsOfferedLast(), systemLast()]).toEqual([offered, 'Mine.']);
    await box.reload(toProgram(OFF));
    await talk(box, 't', { text: 'Hi', context });
    expect([toolsOfferedLast().includes('confirm_operation'), systemLast().includes('"screen":"runs"')]).toEqual([
      true,
      true,
    ]);
  });

  test('takes its place when a deployed box boots, until one boots without it', async () => {
    const headers = await as('owner');
    const first = await open(deployed(), headers);
    model.play = () => 'Hello.';
    const box = await first.restart({ ...OFF, agents: { 'studio-copilot': own() } });
    await talk(box, 't', { text: 'Hi', headers });
    expect(toolsOfferedLast()).toEqual(offered);
    const last = await box.restart({ ...OFF, agents: {} });
    await talk(last, 't', { text: 'Hi', headers });
    expect(toolsOfferedLast()).toContain('confirm_operation');
  });

  test('reads its prompt under its own key, keeps the budget, and confirms nothing', async () => {
    const box = await open({ agents: { 'studio-copilot': own() } });
    const key = { ownerKind: 'agent', ownerName: 'studio-copilot', key: 'studio-copilot' };
    const { body } = await call<{ id: string }>(box, 'POST /api/prompts', { ...key, name: 'Copilot', text: 'Ours.' });
    onTestFinished(async () => void (await call(box, `DELETE /api/prompts/${body.id}`)));
    await call(box, `POST /api/prompts/${body.id}/publish`, { version: 1 });
    const id = await startWorkflow(box, 'rest');
    model.play = inTurn(write('runs.cancel', { id }));
    const { results } = await talk(box, 't', { text: 'Cancel it.' });
    expect([codeOf(results[0]), systemLast()]).toEqual(['confirmation_unavailable', 'Ours.']);
    expect(await statusOf(box, id)).not.toBe('cancelled');
    const from = model.asked.length;
    model.play = () => use('note', {});
    const { text } = await talk(box, 't', { text: 'On and on.' });
    expect([text, model.asked.length - from]).toEqual(['The turn stopped after 40 steps.', 20]);
  });

  test('opens screens as the built-in does, and goes on with what the page says of it', async () => {
    const box = await open({ agents: { 'studio-copilot': own() } });
    const tools = [{ name: 'navigate', description: 'Open a screen.', parameters: { type: 'object', properties: {} } }];
    model.play = inTurn(use('navigate', { screen: 'runs' }), () => 'There it is.');
    const asked = await talk(box, 'screens', { text: 'Show me the runs.', tools });
    expect(toolsOfferedLast()).toEqual([...offered, 'navigate']);
    expect(asked.events.find(({ type }) => type === 'TOOL_CALL_START')).toMatchObject({ toolCallName: 'navigate' });
    const { toolCallId } = asked.events.find(({ type }) => type === 'TOOL_CALL_START') ?? {};
    const messages = [{ id: 'opened', role: 'tool', toolCallId, content: '{"ok":true}' }];
    expect(await talk(box, 'screens', { messages, tools })).toMatchObject({ text: 'There it is.' });
    expect(model.asked.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', content: '{"ok":true}' });
  });

  test.each(['navigate', 'confirm_operation', 'list_operations'])(
    'does not load with a tool named "%s"',
    async (name) => {
      const box = await open({ agents: { 'studio-copilot': own({ [name]: note }) } });
      expect(await talk(box, 't', { text: 'Hi' })).toMatchObject({ error: 'agent_load_failed' });
      const { body } = await call<{ problem: { message: string } }>(box, 'GET /api/catalog/agent/studio-copilot');
      expect(body.problem.message).toContain(`a tool "${name}"`);
    },
  );
});
