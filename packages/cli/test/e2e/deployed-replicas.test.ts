import { expect, it, onTestFinished } from 'vitest';
import { bothServers } from '../../../runtime/test/_cluster.ts';
import { startProxy } from '../../../runtime/test/_proxy.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { listenTo } from '../../../runtime/test/_sse.ts';
import { installationOf, send, SLOW_MS, TOKEN, useDeployed } from './_deployed.ts';
import type { Deployed, Env } from './_deployed.ts';
import { eventually, linesOf, useRig } from './_setup.ts';
import type { Box } from './_setup.ts';

const rig = useRig();
const ASK = `import { requestApproval } from '@svc/runtime';

export async function ask(title: string) {
  'use workflow';
  const { decision } = await requestApproval({ title });
  return decision;
}
`;
const DIE = `import { appendFileSync } from 'node:fs';

async function kill(log: string) {
  'use step';
  appendFileSync(log, process.argv.includes('--supervised') ? 'apart\\n' : 'here\\n');
  process.kill(process.pid, 'SIGKILL');
  await new Promise(() => {});
}

export async function die(input: { log: string }) {
  'use workflow';
  await kill(input.log);
}
`;
/** What the promise for a revoked key is. */
const REVOKED_MS = 5_000;

describeWhen(bothServers, 'two deployed boxes on one PostgreSQL and one Redis', (servers) => {
  const { makeEnv, boot } = useDeployed(rig, servers, {
    'workflows/ask.workflow.ts': ASK,
    'workflows/die.workflow.ts': DIE,
  });

  async function bootTwo(more: Env = {}): Promise<[Deployed, Deployed]> {
    const env = await makeEnv(more);
    // At once: the database is empty, and both would make its tables and the identity.
    return Promise.all([boot({ env }), boot({ env })]);
  }

  const stop = (...boxes: Box[]) => Promise.all(boxes.map((box) => box.stop('SIGTERM')));

  it(
    'boot at once on an empty database as one installation',
    async () => {
      const [a, b] = await bootTwo();
      for (const box of [a, b]) expect((await send(box, 'GET /health')).status).toBe(200);
      expect(installationOf(a)).toBe(installationOf(b));
      expect(installationOf(a)).toMatch(/^[0-9a-f-]{36}$/);
      expect(await stop(a, b)).toMatchObject([{ code: 0 }, { code: 0 }]);
    },
    SLOW_MS,
  );

  it(
    'a decision on one resumes the run of the other, and both report it',
    async () => {
      const [a, b] = await bootTwo();
      const stream = await listenTo(`${b.url}/api/events`, { headers: { authorization: `Bearer ${TOKEN}` } });
      const { runId } = await a.start('ask', { args: ['Charge 5?'] });
      const asked = await eventually(async () => {
        const { body } = await send<{ items: { approvalId: string; runId: string }[] }>(b, 'GET /api/approvals');
        return body.items.find((one) => one.runId === runId);
      });
      const { approvalId } = asked as { approvalId: string };
      const decided = await send(b, `POST /api/approvals/${approvalId}/decide`, { body: { decision: 'approve' } });
      expect(decided.status).toBe(200);
      expect(await a.finish(runId)).toMatchObject({ status: 'completed', output: 'approve' });
      // The run is the other's, and so are its events.
      await eventually(() =>
        ['run.created', 'approval.asked', 'approval.decided', 'run.ended'].every((type) =>
          stream.events(type).some(({ data }) => data['runId'] === runId),
        ),
      );
      // Decided once, whoever is asked.
      const again = await send(a, `POST /api/approvals/${approvalId}/decide`, { body: { decision: 'reject' } });
      expect(again).toMatchObject({ status: 409, body: { code: 'already_decided' } });
      stream.close();
      await stop(a, b);
    },
    SLOW_MS,
  );

  it(
    'a cancel on one ends the run of the other',
    async () => {
      const [a, b] = await bootTwo();
      const input = { log: a.workspace.path('log'), gate: a.workspace.path('gate') };
      const { runId } = await a.start('gated', input);
      await eventually(() => linesOf(input.log).length === 3);
      expect((await send(b, `POST /api/runs/${runId}/cancel`)).status).toBe(200);
      expect(await a.finish(runId)).toMatchObject({ status: 'cancelled' });
      a.workspace.write('gate', '');
      expect(await b.finish(runId)).toMatchObject({ status: 'cancelled' });
      expect(linesOf(input.log)).toHaveLength(3);
      await stop(a, b);
    },
    SLOW_MS,
  );

  it.each(['up', 'away'])(
    'a key revoked on one is refused on the other within 5 s, with Redis %s',
    async (redis) => {
      const proxy = await startProxy(servers.kv);
      onTestFinished(() => proxy.close());
      const [a, b] = await bootTwo({ WORKFLOW_KV_URL: proxy.url });
      if (redis === 'away') proxy.cut();
      const grants = { agents: 'all', workflows: 'all' };
      const made = await send<{ id: string; value: string }>(a, 'POST /api/keys', { body: { name: 'k', grants } });
      const { id, value: token } = made.body;
      // Known to both from here on.
      for (const box of [a, b])
        expect(await send(box, 'GET /wire-a/v1/models', { token })).toMatchObject({ status: 200 });
      const began = performance.now();
      expect(await send(a, `POST /api/keys/${id}/revoke`)).toMatchObject({ status: 200 });
      expect((await send(a, 'GET /wire-a/v1/models', { token })).status).toBe(401);
      await eventually(async () => (await send(b, 'GET /wire-a/v1/models', { token })).status === 401, {
        within: REVOKED_MS,
      });
      expect(performance.now() - began).toBeLessThan(REVOKED_MS);
      await stop(a, b);
    },
    SLOW_MS,
  );

  it(
    'a provider stored on one opens the gate of the other',
    async () => {
      const { hostname } = new URL(rig.model().url);
      const more = { MODEL_PROVIDER_BASE_URL: '', SVC_ALLOW_PRIVATE_EGRESS: hostname };
      const [a, b] = await bootTwo(more);
      // What needs no model runs.
      const { runId } = await b.start('greet', { name: 'Ada' });
      await eventually(async () => (await b.run(runId)).status === 'completed');
      const ask = { body: { model: 'echo', messages: [{ role: 'user', content: 'say:hi' }] } };
      const refused = { status: 503, body: { error: { code: 'agent_runtime_not_armed' } } };
      expect(await send(b, 'POST /wire-a/v1/chat/completions', ask)).toMatchObject(refused);
      expect(await send(b, 'GET /health')).toMatchObject({
        status: 200,
        body: { checks: { provider: { status: 'ok', warning: expect.stringContaining('agents are held back') } } },
      });
      const put = await send(a, 'PUT /api/model-provider', { body: { baseUrl: rig.model().url, apiKey: 'k' } });
      expect(put.status).toBe(200);
      await eventually(async () => (await send(b, 'POST /wire-a/v1/chat/completions', ask)).status === 200);
      await stop(a, b);
    },
    SLOW_MS,
  );

  it(
    'a run goes on on the other after kill -9',
    async () => {
      const [a, b] = await bootTwo();
      const log = a.workspace.path('log');
      const { runId } = await a.start('five', { log, name: 'run' });
      await eventually(() => linesOf(log).length >= 2);
      await a.stop('SIGKILL');
      expect((await b.fetch('/live')).status).toBe(200);
      // The lease of the dead one has to end.
      await eventually(async () => (await b.run(runId)).status === 'completed', { within: 90_000, every: 200 });
      // At most the step it died in was done twice.
      expect(new Set(linesOf(log).map((line) => line.split(' ')[0])).size).toBe(5);
      expect(linesOf(log).length).toBeLessThanOrEqual(6);
      await stop(b);
    },
    SLOW_MS,
  );

  it(
    'a workflow that kills its process is convicted once two of them have died, and what runs beside it repeats nothing',
    async () => {
      const env = await makeEnv();
      const [a, b] = await Promise.all([boot({ env }), boot({ env })]);
      const [log, beside] = [a.workspace.path('log'), (name: string) => a.workspace.path(`beside-${name}`)];
      const { runId } = await a.start('die', { log });
      expect(await a.ended).toMatchObject({ signal: 'SIGKILL' });
      const first = await b.start('five', { log: beside('b'), name: 'b' });
      expect(await b.finish(first.runId)).toMatchObject({ status: 'completed' });
      // It takes the run once the lease of the dead one is over.
      expect(await b.ended).toMatchObject({ signal: 'SIGKILL' });
      expect(linesOf(log)).toEqual(['here', 'here']);
      const c = await boot({ env });
      const gated = await c.start('gated', { log: beside('gated'), gate: a.workspace.path('gate') });
      await eventually(async () => (await c.run(runId)).status === 'failed', { within: 120_000, every: 200 });
      expect((await c.run(runId)).error).toMatchObject({ code: 'run_poisoned' });
      expect(linesOf(log).slice(2)).toEqual(Array.from({ length: linesOf(log).length - 2 }, () => 'apart'));
      a.workspace.write('gate', '');
      expect(await c.finish(gated.runId)).toMatchObject({ status: 'completed' });
      for (const name of ['b', 'gated']) {
        const lines = linesOf(beside(name));
        expect(new Set(lines).size).toBe(lines.length);
      }
      expect(await c.stop('SIGTERM')).toMatchObject({ code: 0 });
    },
    SLOW_MS,
  );

  it(
    'one that gets SIGTERM under load loses nothing: what it took is done by the other',
    async () => {
      const [a, b] = await bootTwo();
      const log = a.workspace.path('log');
      const load = runLoad(a, log);
      await eventually(() => load.started.length >= 20, { within: 60_000 });
      const ended = await a.stop('SIGTERM');
      await load.stop();
      expect(ended).toMatchObject({ code: 0, signal: null });
      expect(ended.ms).toBeLessThan(20_000);
      expect(load.wrong).toEqual([]);
      expect(load.refused).toBeGreaterThan(0);
      for (const runId of load.started) expect(await b.finish(runId)).toMatchObject({ status: 'completed' });
      await stop(b);
    },
    SLOW_MS,
  );
});

// --- internal ---

interface Load {
  /** The runs it was notified of. */
  started: string[];
  /** How often it was notified that the box is going. */
  refused: number;
  /** Every other answer that is no success. */
  wrong: unknown[];
  stop(): Promise<void>;
}

/** Eight callers that start a workflow of five steps, or read, again and again. A connection that is cut is no answer. */
function runLoad(box: Box, log: string): Load {
  const over = new AbortController();
  const load: Load = { started: [], refused: 0, wrong: [], stop: async () => {} };
  const call = async (caller: number): Promise<void> => {
    for (let count = 0; !over.signal.aborted; count++) {
      const isStart = (count + caller) % 2 === 0;
      const input = { log, name: `load-${caller}-${count}` };
      const request = isStart
        ? send(box, 'POST /api/workflows/five/start', { body: input })
        : send(box, 'GET /api/runs?limit=1');
      const answer = await request.catch(() => undefined);
      if (!answer) return;
      const { status, body } = answer;
      if (status === 503 && body['code'] === 'shutting_down') load.refused++;
      else if (status >= 400) load.wrong.push([status, body]);
      else if (isStart) load.started.push(body['runId'] as string);
    }
  };
  const callers = Promise.all(Array.from({ length: 8 }, (_, caller) => call(caller)));
  load.stop = async () => {
    over.abort();
    await callers;
  };
  return load;
}
