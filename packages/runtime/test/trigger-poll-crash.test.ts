import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startModelServer } from '../../../playground/model-server.mjs';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import type { Trigger, TriggerDelivery } from '../src/triggers/store.ts';
import { useFeed } from './_feed.ts';
import { describeWhen, realServers } from './require.ts';
import { until } from './_setup.ts';
import type { ModelServer } from './_setup.ts';
import { forkWorker } from './_turn-worker.ts';
import type { Death, Worker } from './_turn-worker.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-poll-crash-'));
const feed = useFeed();
let model: ModelServer;

beforeAll(async () => {
  model = await startModelServer();
});
afterAll(async () => {
  await model.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Where the process dies that asks, and whether what it has heard is stored by then. Without a death it is killed. */
const PHASES: Record<string, { death?: Death; isStored?: boolean }> = {
  'before it has an answer': {},
  'between the answer and its record': {
    death: { sql: 'insert into "svc"."trigger_deliveries"', when: 'before', nth: 1 },
  },
  'between the deliveries and what was seen': {
    death: { sql: 'insert into "svc"."trigger_seen"', when: 'before', nth: 1 },
  },
  'at the end of the record': { death: { sql: 'update "svc"."trigger_polls" set "next_at"', when: 'after', nth: 1 } },
  'after the record': { death: { sql: 'set "attempts"', when: 'before', nth: 1 }, isStored: true },
};

describe('a process that asks and is killed', () => suite(() => undefined));

describeWhen(realServers.database, 'one of two replicas that asks and is killed, on Postgres', (server) => {
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
    '%s loses no item, and each starts one run',
    async (name, { death, isStored = false }) => {
      feed.reset();
      feed.items = [1, 2, 3].map((id) => ({ id: `${name} ${id}` }));
      const gone = once(worker.child, 'exit');
      if (death) await worker.arm(death);
      else feed.ways.held = new Promise(() => {});
      // The answer to this may be lost with the process.
      await ask('POST /api/triggers', {
        name,
        target: { workflow: 'timed' },
        poll: { url: `${feed.url}/items`, from: 'all' },
      }).catch(() => undefined);
      if (!death) {
        await until(() => feed.asked.length === 1);
        feed.ways.held = null;
        await Promise.all([worker.kill(), gone]);
      }
      // With another replica beside it, that one may have been the faster.
      const late = new Promise((resolve) => setTimeout(() => resolve('it lives'), other ? 3_000 : 20_000));
      const end = await Promise.race([gone, late]);
      expect(other !== undefined || end !== 'it lives').toBe(true);
      await worker.kill();
      worker = await fork();
      const { items } = await ask<{ items: Trigger[] }>('GET /api/triggers');
      const id = items.find((each) => each.name === name)!.id;
      let found: (Trigger & { deliveries: TriggerDelivery[] }) | undefined;
      await until(async () => {
        found = await ask(`GET /api/triggers/${id}`);
        const { deliveries } = found!;
        return deliveries.length >= 3 && deliveries.every(({ endedAt }) => endedAt !== null);
      }, 20_000);
      expect(found!.deliveries.map(({ senderId, state }) => [senderId, state]).toSorted()).toEqual(
        [1, 2, 3].map((each) => [`${name} ${each}`, 'delivered']),
      );
      expect(found!.polling).toMatchObject({ seen: 3, failures: 0 });
      // What is stored is asked for no more; what is not has to be.
      expect(feed.asked.length === 1).toBe(isStored);
      const runs = await ask<{ items: unknown[] }>('GET /api/runs?trigger=trigger&limit=200');
      expect(runs.items).toHaveLength((started += 3));
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
