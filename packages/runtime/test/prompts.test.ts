import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool, svc } from '../src/index.ts';
import { call, json, runWorkflow, setupBoxes, startWorkflow, toStep, finish, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { bothServers, createCluster, WITHOUT_LOOKS } from './_cluster.ts';
import { describeWhen } from './require.ts';

const boxes = setupBoxes();
let names = 0;
/** The boxes of this file share one database. */
const newName = () => `owner-${++names}`;

type Body = Record<string, unknown>;
const NEW = { ownerKind: 'agent', key: 'instructions', name: 'Instructions', text: 'One.\n' };
const create = async (box: TestBox, more: Body = {}) =>
  (await call(box, 'POST /api/prompts', { ...NEW, ownerName: newName(), ...more })).body as Body & { id: string };
const patch = async (box: TestBox, id: string, body: unknown) => {
  const answer = await box.request(`/api/prompts/${id}`, json(body, { method: 'PATCH' }));
  return { status: answer.status, body: (await answer.json()) as Body };
};
const addVersion = (box: TestBox, id: string, text: string) => call(box, `POST /api/prompts/${id}/versions`, { text });
const publish = (box: TestBox, id: string, body?: unknown) => call(box, `POST /api/prompts/${id}/publish`, body);
const rollback = (box: TestBox, id: string) => call(box, `POST /api/prompts/${id}/rollback`);

const chat = async (box: TestBox, model: string, content = 'say:ok') =>
  (
    await box.request(
      '/wire-a/v1/chat/completions',
      json({ model, messages: [{ role: 'user', content }] }, { headers: { authorization: 'Bearer key' } }),
    )
  ).json();
/** What the model was told first, at its last call. */
const lastSystem = (box: TestBox) => {
  const [first] = box.model.requests.at(-1)?.messages ?? [];
  return first?.role === 'system' ? first.content : undefined;
};
const lastRun = async (box: TestBox, name: string) =>
  (await call<{ items: Body[] }>(box, `GET /api/runs?name=${encodeURIComponent(name)}`)).body.items[0];
const agentOf = (name: string, more = {}) => defineDeepAgent({ name, instructions: 'Of the code.', ...more });

describe('prompts', () => {
  test('begin as a draft, and are found by owner and key', async () => {
    const box = await boxes.open();
    const ownerName = newName();
    const made = await create(box, { ownerName, note: 'why' });
    expect(made).toMatchObject({
      ownerName,
      key: 'instructions',
      publishedVersion: null,
      latestVersion: 1,
      note: 'why',
    });
    expect(made).toMatchObject({ createdBy: 'owner', ownerExists: false });
    const list = `GET /api/prompts?ownerKind=agent&ownerName=${ownerName}&key=instructions`;
    expect((await call(box, list)).body).toMatchObject({ items: [{ id: made.id }], nextCursor: null });
    expect((await call(box, `GET /api/prompts/${made.id}`)).body).toMatchObject({
      published: null,
      latest: { version: 1, text: 'One.\n', isPublished: false },
    });
    expect(await patch(box, made.id, { name: 'Other' })).toMatchObject({ body: { name: 'Other', note: 'why' } });
    expect(await patch(box, made.id, { note: null })).toMatchObject({ body: { name: 'Other', note: null } });
  });

  test('say whether their owner is there', async () => {
    const name = newName();
    const box = await boxes.open({
      agents: { [name]: agentOf(name, { subagents: [{ name: 'own', description: 'x' }] }) },
      workflows: { [name]: { run: () => 1 } },
    });
    const exists = async (more: Body) => (await create(box, { ownerName: name, key: newName(), ...more })).ownerExists;
    expect(await exists({})).toBe(true);
    expect(await exists({ ownerKind: 'workflow' })).toBe(true);
    expect(await exists({ ownerKind: 'workspace', ownerName: '' })).toBe(true);
    expect(await exists({ ownerName: `${name}/own` })).toBe(true);
    expect(await exists({ ownerName: `${name}/other` })).toBe(false);
    const closed = await boxes.open({ provider: 'none' });
    expect((await create(closed)).ownerExists).toBeNull();
  });

  test('have versions that never change, newest first', async () => {
    const box = await boxes.open();
    const { id } = await create(box);
    expect(await addVersion(box, id, 'Two.\n')).toMatchObject({ status: 201, body: { version: 2, text: 'Two.\n' } });
    await addVersion(box, id, 'Three.\n');
    await publish(box, id, { version: 2 });
    const page = await call<{ nextCursor: string }>(box, `GET /api/prompts/${id}/versions?limit=2`);
    expect(page.body).toMatchObject({ items: [{ version: 3 }, { version: 2, isPublished: true }] });
    const next = await call(box, `GET /api/prompts/${id}/versions?cursor=${page.body.nextCursor}`);
    expect(next.body).toMatchObject({ items: [{ version: 1, isPublished: false }], nextCursor: null });
    expect((await call(box, `GET /api/prompts/${id}/versions/1`)).body).toMatchObject({ text: 'One.\n' });
    expect((await call(box, `GET /api/prompts/${id}`)).body).toMatchObject({
      published: { version: 2, text: 'Two.\n' },
      latest: { version: 3, text: 'Three.\n' },
    });
  });

  test('are refused twice for one owner and key, and with what they cannot hold', async () => {
    const box = await boxes.open();
    const ownerName = newName();
    await create(box, { ownerName });
    const refused = async (more: Body) => {
      const { status, body } = await call(box, 'POST /api/prompts', { ...NEW, ownerName: newName(), ...more });
      return [status, body.code];
    };
    expect(await refused({ ownerName })).toEqual([409, 'prompt_exists']);
    expect(await refused({ text: 'x'.repeat(256 * 1024 + 1) })).toEqual([413, 'prompt_too_large']);
    expect(await refused({ text: ' \n' })).toEqual([400, 'invalid_request']);
    expect(await refused({ text: 'a\0b' })).toEqual([400, 'invalid_request']);
    expect(await refused({ key: 'a b' })).toEqual([400, 'invalid_request']);
    expect(await refused({ ownerName: '' })).toEqual([400, 'invalid_request']);
    expect(await refused({ ownerKind: 'workspace' })).toEqual([400, 'invalid_request']);
  });

  test('that are not there are kept apart from versions that are not', async () => {
    const box = await boxes.open();
    const { id } = await create(box);
    const absent = '01890000-0000-7000-8000-000000000000';
    for (const other of [absent, 'x'])
      for (const route of ['GET /', 'DELETE /', 'GET //versions', 'POST //publish', 'POST //rollback', 'GET //diff'])
        expect((await call(box, route.replace('/', `/api/prompts/${other}`).replace(/\/$/, ''))).body.code).toBe(
          'prompt_not_found',
        );
    expect((await addVersion(box, absent, 'x')).body.code).toBe('prompt_not_found');
    for (const route of [`GET /api/prompts/${id}/versions/9`, `GET /api/prompts/${id}/diff?from=9`])
      expect(await call(box, route)).toMatchObject({ status: 404, body: { code: 'prompt_version_not_found' } });
    expect((await publish(box, id, { version: 2 })).body.code).toBe('prompt_version_not_found');
  });

  test('publish the latest version by default, and go back further each time', async () => {
    const box = await boxes.open();
    const { id } = await create(box);
    expect(await rollback(box, id)).toMatchObject({ status: 409, body: { code: 'prompt_not_published_before' } });
    for (const text of ['Two.', 'Three.']) {
      expect((await publish(box, id)).status).toBe(200);
      await addVersion(box, id, text);
    }
    expect((await publish(box, id)).body).toMatchObject({ publishedVersion: 3 });
    // Once more changes nothing.
    await publish(box, id, { version: 3 });
    expect((await rollback(box, id)).body).toMatchObject({ publishedVersion: 2, latestVersion: 3 });
    expect((await rollback(box, id)).body).toMatchObject({ publishedVersion: 1 });
    expect(await rollback(box, id)).toMatchObject({ status: 409, body: { code: 'prompt_not_published_before' } });
    await publish(box, id, { version: 3 });
    expect((await rollback(box, id)).body).toMatchObject({ publishedVersion: 1 });
  });

  test('are compared by line: the published version with the latest by default', async () => {
    const box = await boxes.open();
    const { id } = await create(box, { text: 'You help.\nBe short.\nBe kind.\n' });
    await publish(box, id);
    await addVersion(box, id, 'You help.\nBe brief.\nBe kind.\n');
    const { body } = await call(box, `GET /api/prompts/${id}/diff`);
    expect(body).toMatchObject({ from: 1, to: 2, added: 1, removed: 1 });
    expect(body.hunks).toEqual([
      {
        fromLine: 1,
        fromLines: 3,
        toLine: 1,
        toLines: 3,
        lines: [
          { kind: 'same', text: 'You help.' },
          { kind: 'removed', text: 'Be short.' },
          { kind: 'added', text: 'Be brief.' },
          { kind: 'same', text: 'Be kind.' },
        ],
      },
    ]);
    expect(body.unified).toContain(
      '--- version 1\n+++ version 2\n@@ -1,3 +1,3 @@\n You help.\n-Be short.\n+Be brief.\n',
    );
    expect((await call(box, `GET /api/prompts/${id}/diff?from=2&to=2`)).body).toMatchObject({ unified: '', hunks: [] });
    const lines = (start: number) => Array.from({ length: 5_000 }, (_, n) => `line ${start + n}`).join('\n');
    await addVersion(box, id, lines(0));
    await addVersion(box, id, lines(100_000));
    const huge = await call(box, `GET /api/prompts/${id}/diff?from=3&to=4`);
    expect(huge.body).toMatchObject({ added: 5_000, removed: 5_000 });
  });

  test('leave no text in the activity log, which every seat reads', async () => {
    const box = await boxes.open();
    const { id } = await create(box, { name: 'the name', text: 'the words' });
    await addVersion(box, id, 'the words of two');
    await publish(box, id);
    await call(box, `DELETE /api/prompts/${id}`);
    const { body } = await call<{ items: { id: string; operation: string }[] }>(box, 'GET /api/activity?limit=4');
    expect(body.items.map(({ operation }) => operation).reverse()).toEqual([
      'prompts.create',
      'prompts.add_version',
      'prompts.publish',
      'prompts.delete',
    ]);
    for (const { id: entry } of body.items)
      expect(JSON.stringify((await call(box, `GET /api/activity/${entry}`)).body)).not.toMatch(/the (?:words|name)/);
  });
});

describe('the published prompt of an agent', () => {
  test('takes the place of its instructions, and its version is on the run', async () => {
    const name = newName();
    const box = await boxes.open({ agents: { [name]: agentOf(name) } });
    await chat(box, name);
    expect(lastSystem(box)).toBe('Of the code.');
    expect((await lastRun(box, name))?.attributes).toEqual({});
    const { id } = await create(box, { ownerName: name, text: 'Of the operator.' });
    await chat(box, name);
    expect(lastSystem(box)).toBe('Of the code.');
    await publish(box, id);
    await chat(box, name);
    expect(lastSystem(box)).toBe('Of the operator.');
    expect((await lastRun(box, name))?.attributes).toEqual({ 'svc.prompt.instructions': `${id}@1` });
    await addVersion(box, id, 'Of the second version.');
    await publish(box, id);
    await chat(box, name);
    expect(lastSystem(box)).toBe('Of the second version.');
    await rollback(box, id);
    await chat(box, name);
    expect(lastSystem(box)).toBe('Of the operator.');
    await call(box, `DELETE /api/prompts/${id}`);
    await chat(box, name);
    expect(lastSystem(box)).toBe('Of the code.');
  });

  test('of a sub-agent has its name behind the agent', async () => {
    const name = newName();
    const critic = { name: 'critic', description: 'Judges.', instructions: 'Judge.' };
    const box = await boxes.open({ agents: { [name]: agentOf(name, { subagents: [critic] }) } });
    const { id } = await create(box, { ownerName: `${name}/critic`, text: 'Judge kindly.' });
    await publish(box, id);
    await chat(box, name, 'tool:task {"subagent_type":"critic","description":"fine"}; say:done');
    const received = box.model.requests.map(({ messages: [first] }) => first?.content);
    expect(received).toContain('Judge kindly.');
    expect((await lastRun(box, `${name}/critic`))?.attributes).toEqual({ 'svc.prompt.instructions': `${id}@1` });
  });

  test.each(['published', 'deleted', 'not there before'])(
    'stays that of a turn which waits, whatever is %s meanwhile, in another process too',
    async (what) => {
      const name = newName();
      const pay = defineTool({ description: 'Pays.', inputSchema: z.object({}), execute: () => 'paid' });
      const agent = agentOf(name, { tools: { pay }, interruptOn: { pay: true } });
      const box = await boxes.open({ agents: { [name]: agent } });
      const { id } = await create(box, { ownerName: name, text: 'Version one.' });
      if (what !== 'not there before') await publish(box, id);
      void chat(box, name, 'tool:pay {}; say:done').catch(() => {});
      const approvals = async (on: TestBox) =>
        (await call<{ items: { approvalId: string; runId: string }[] }>(on, 'GET /api/approvals?status=pending')).body
          .items;
      await until(async () => (await approvals(box)).length === 1);
      const [asked] = await approvals(box);
      await addVersion(box, id, 'Version two.');
      if (what === 'deleted') await call(box, `DELETE /api/prompts/${id}`);
      else await publish(box, id);
      const next = await box.restart();
      await call(next, `POST /api/approvals/${asked?.approvalId}/decide`, { decision: 'approve' });
      const run = await finish(next, asked?.runId ?? '');
      expect(run).toMatchObject({ status: 'completed' });
      expect(next.model.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool' });
      expect(lastSystem(next)).toBe(what === 'published' ? 'Version one.' : 'Of the code.');
      expect(run.attributes).toEqual(what === 'not there before' ? {} : { 'svc.prompt.instructions': `${id}@1` });
      expect(next.logs.filter(({ prompt }) => prompt === id)).toHaveLength(what === 'deleted' ? 1 : 0);
    },
  );
});

describe('svc.prompts', () => {
  const publishNew = async (box: TestBox, more: Body) => {
    const { id } = await create(box, more);
    await publish(box, id);
    return id;
  };

  test('answers the prompt of the workflow, or of the workspace, in steps and bodies, and marks the run', async () => {
    const name = newName();
    const own = newName();
    const shared = newName();
    const render = Object.assign(
      toStep('render', () => svc.prompts.render(own, { who: 'Ada', n: 3 })),
      { maxRetries: 0 },
    );
    const box = await boxes.open({
      workflows: {
        [name]: { run: async () => [await svc.prompts.get(shared), await render()] },
      },
    });
    const ofWorkspace = await publishNew(box, { ownerKind: 'workspace', ownerName: '', key: shared, text: 'Shared.' });
    await publishNew(box, { ownerKind: 'workspace', ownerName: '', key: own, text: 'Not this one.' });
    const ofWorkflow = await publishNew(box, {
      ownerKind: 'workflow',
      ownerName: name,
      key: own,
      text: 'Dear {{who}}, {{ n }} times. {{{not}}',
    });
    const failed = await runWorkflow(box, name);
    expect(failed).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('"not"') } });
    await addVersion(box, ofWorkflow, 'Dear {{who}}, {{ n }} times.');
    await publish(box, ofWorkflow);
    expect(await runWorkflow(box, name)).toMatchObject({
      status: 'completed',
      output: [{ promptId: ofWorkspace, version: 1, text: 'Shared.' }, 'Dear Ada, 3 times.'],
      attributes: {
        [`svc.prompt.workspace.${shared}`]: `${ofWorkspace}@1`,
        [`svc.prompt.workflow.${own}`]: `${ofWorkflow}@2`,
      },
    });
  });

  test('in a body is recorded: a replay has the text of the first time', async () => {
    const key = newName();
    const ask = {
      run: async () => {
        const { text } = await svc.prompts.get(key, { owner: 'workspace' });
        await new Promise((resolve) => void svc.workflows.startAndWait('wait', {}).then(resolve));
        return text;
      },
    };
    const { createHook } = await import('../src/index.ts');
    const wait = { run: async () => void (await createHook({ token: key })) };
    const box = await boxes.open({ workflows: { ask, wait } });
    const id = await publishNew(box, { ownerKind: 'workspace', ownerName: '', key, text: 'First.' });
    const runId = await startWorkflow(box, 'ask');
    await until(async () => (await call(box, `GET /api/runs/${runId}`)).body.status === 'waiting');
    await addVersion(box, id, 'Second.');
    await publish(box, id);
    const next = await box.restart();
    await until(async () => (await call(next, `POST /api/workflows/hooks/${key}/resume`, {})).status === 200);
    expect(await finish(next, runId)).toMatchObject({ status: 'completed', output: 'First.' });
  });

  test('says what is not published, and where it works', async () => {
    const box = await boxes.open({ workflows: { ask: { run: () => svc.prompts.get('nothing') } } });
    expect(await runWorkflow(box, 'ask')).toMatchObject({
      error: {
        code: 'prompt_not_found',
        message: 'No prompt "nothing" of the workflow "ask" or of the workspace is published.',
      },
    });
    await expect(svc.prompts.get('nothing')).rejects.toThrow(
      'svc.prompts.get() works in a workflow, a step or a tool.',
    );
  });
});

describeWhen(bothServers, 'prompts on Postgres and Redis', (servers) => {
  test('versions that are added at once get a number each', async () => {
    const { openDatabase } = await import('../src/stores/database.ts');
    const { openPg } = await import('../src/stores/pg.ts');
    const database = openDatabase(openPg(servers.database));
    await database.ready;
    const box = await boxes.open({ options: { db: database.db, isBlank: () => false } });
    try {
      const { id } = await create(box, { ownerName: crypto.randomUUID() });
      const added = await Promise.all(Array.from({ length: 12 }, (_, n) => addVersion(box, id, `v${n}`)));
      expect(added.map(({ body }) => Number(body.version)).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 12 }, (_, n) => n + 2),
      );
      await Promise.all([2, 3, 4, 5, 6].map((version) => publish(box, id, { version })));
      const [first, second] = await Promise.all([rollback(box, id), rollback(box, id)]);
      expect([first.status, second.status]).toEqual([200, 200]);
      const same = crypto.randomUUID();
      const made = await Promise.all([1, 2, 3].map(() => call(box, 'POST /api/prompts', { ...NEW, ownerName: same })));
      expect(made.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
      for (const { status, body } of made) if (status === 201) await call(box, `DELETE /api/prompts/${body.id}`);
      await call(box, `DELETE /api/prompts/${id}`);
    } finally {
      await box.shut();
      await database.close();
    }
  });

  test('a replica that hears of a publish uses it at once', async () => {
    const name = newName();
    const open = createCluster(boxes, servers);
    const agents = { [name]: agentOf(name) };
    const a = await open({ agents, engine: WITHOUT_LOOKS });
    const b = await open({ agents, engine: WITHOUT_LOOKS });
    await chat(b, name);
    expect(lastSystem(b)).toBe('Of the code.');
    const { id } = await create(a, { ownerName: name, text: 'Told.' });
    await publish(a, id);
    const since = performance.now();
    await until(async () => (await chat(b, name), lastSystem(b) === 'Told.'), 20_000);
    expect(performance.now() - since).toBeLessThan(20_000);
    expect((await lastRun(b, name))?.attributes).toEqual({ 'svc.prompt.instructions': `${id}@1` });
  });
});
