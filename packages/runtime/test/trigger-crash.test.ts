import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startModelServer } from '../../../playground/model-server.mjs';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import type { Trigger, TriggerDelivery } from '../src/triggers/store.ts';
import { describeWhen, realServers } from './require.ts';
import { until } from './_setup.ts';
import type { ModelServer } from './_setup.ts';
import { forkWorker } from './_turn-worker.ts';
import type { Death, Worker } from './_turn-worker.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-trigger-crash-'));
const SECRET = 'a secret of a repository';
let model: ModelServer;

beforeAll(async () => {
  model = await startModelServer();
});
afterAll(async () => {
  await model.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Where the process dies with a delivery, and whether its sender has heard that it is stored. */
const PHASES: Record<string, { death: Death; isHeard?: boolean }> = {
  'before the delivery is stored': { death: { sql: 'insert into "svc"."trigger_deliveries"', when: 'before', nth: 1 } },
  'between the store and the start': { death: { sql: 'set "attempts"', when: 'before', nth: 1 }, isHeard: true },
  'once it has taken the delivery': { death: { sql: 'set "attempts"', when: 'after', nth: 1 }, isHeard: true },
  'between the start and its note': { death: { sql: 'set "state"', when: 'before', nth: 1 }, isHeard: true },
  'after its note': { death: { sql: 'set "state"', when: 'after', nth: 1 }, isHeard: true },
};

describe('a process that is killed', () => suite(() => undefined));

describeWhen(realServers.database, 'one of two replicas that is killed, on Postgres', (server) => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  beforeAll(async () => {
    database = await createDatabase(server);
  });
  afterAll(() => database?.drop());
  suite(() => database.url);
});

function suite(database: () => string | undefined): void {
  let worker: Worker;
  let other: Worker | undefined;
  const fork = () => forkWorker({ folder, modelUrl: model.url, database: database() });
  beforeAll(async () => {
    worker = await fork();
    if (database() !== undefined) other = await fork();
  }, 60_000);
  afterAll(() => Promise.all([worker?.kill(), other?.kill()]));

  test.each(Object.entries(PHASES))(
    '%s leaves it to the next, and it is one run',
    async (name, { death, isHeard = false }) => {
      const { id } = await ask<Trigger>('POST /api/triggers', {
        name,
        target: { workflow: 'timed' },
        signature: { scheme: 'github' },
        secret: SECRET,
      });
      const gone = once(worker.child, 'exit');
      await worker.arm(death);
      await send(worker.url, id, name).catch(() => undefined);
      // With another replica beside it, that one may have been the faster.
      const late = new Promise((resolve) => setTimeout(() => resolve('it lives'), other ? 3_000 : 20_000));
      const end = await Promise.race([gone, late]);
      expect(other !== undefined || end !== 'it lives').toBe(true);
      await worker.kill();
      worker = await fork();
      // Its sender has heard nothing, or sends it once more: it is the same.
      const again = await send(worker.url, id, name);
      expect([again.status, isHeard ? again.state : 'repeated']).toEqual([200, 'repeated']);
      let deliveries: TriggerDelivery[] = [];
      await until(async () => {
        ({ deliveries } = await ask<{ deliveries: TriggerDelivery[] }>(`GET /api/triggers/${id}`));
        return deliveries.length === 1 && deliveries[0]?.endedAt !== null;
      }, 20_000);
      expect(deliveries).toMatchObject([{ state: 'delivered', senderId: name, runId: expect.any(String) }]);
      const runs = await ask<{ items: { runId: string; status: string }[] }>('GET /api/runs?trigger=trigger&limit=200');
      expect(runs.items.filter(({ runId }) => runId === deliveries[0]?.runId)).toHaveLength(1);
      expect(runs.items).toHaveLength(++started);
    },
    60_000,
  );

  let started = 0;

  async function ask<T>(route: string, body?: object): Promise<T> {
    const [method = '', path = ''] = route.split(' ');
    const init = body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {};
    return (await (await fetch(worker.url + path, { method, ...init })).json()) as T;
  }
}

/** As GitHub does. */
async function send(url: string, id: string, name: string): Promise<{ status: number; state: string }> {
  const body = JSON.stringify({ name });
  const value = createHmac('sha256', SECRET).update(body).digest('hex');
  const headers = {
    'content-type': 'application/json',
    'x-github-delivery': name,
    'x-hub-signature-256': `sha256=${value}`,
  };
  const answer = await fetch(`${url}/api/inbound/${id}`, { method: 'POST', headers, body });
  return { status: answer.status, ...((await answer.json()) as { state: string }) };
}
