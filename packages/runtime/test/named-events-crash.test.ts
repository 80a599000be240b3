import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startModelServer } from '../../../playground/model-server.mjs';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { describeWhen, realServers } from './require.ts';
import { until } from './_setup.ts';
import type { ModelServer } from './_setup.ts';
import { forkWorker } from './_turn-worker.ts';
import type { Death, Worker } from './_turn-worker.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-event-crash-'));
const WAITING = 30;
let model: ModelServer;

beforeAll(async () => {
  model = await startModelServer();
});
afterAll(async () => {
  await model.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Where the process dies with an event. */
const PHASES: Record<string, Death> = {
  'before the event is kept': { journal: 'create', nth: 1 },
  'once it is kept': { journal: 'create', when: 'after', nth: 1 },
  'before the workflow is started that starts by it': { journal: 'create', nth: 2 },
  'before anyone is given it': { step: 'deliver', when: 'before', nth: 1 },
  'in the midst of those who wait': { journal: 'resume', nth: WAITING / 2 },
  'once all have it, and before that is recorded': { step: 'deliver', when: 'after', nth: 1 },
};

interface Run {
  runId: string;
  status: string;
  output: unknown;
}

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
  let sent = 0;
  const fork = () => forkWorker({ folder, modelUrl: model.url, database: database() });
  beforeAll(async () => {
    worker = await fork();
    if (database() !== undefined) other = await fork();
  }, 60_000);
  afterAll(() => Promise.all([worker?.kill(), other?.kill()]));

  test.each(Object.entries(PHASES))(
    '%s gives it to each run that waited, and starts the workflow once',
    async (name, death) => {
      const items = Array.from({ length: WAITING }, () => ({}));
      const made = await ask<{ items: { runId: string }[] }>('POST /api/workflows/awaits/start-many', { items });
      const ids = made.items.map(({ runId }) => runId);
      const read = async (status: string): Promise<Run[]> => {
        const runs = await Promise.all(ids.map((id) => ask<Run>(`GET /api/runs/${id}`)));
        return runs.filter((run) => run.status === status);
      };
      await until(async () => (await read('waiting')).length === WAITING, 20_000);
      const gone = once(worker.child, 'exit');
      await worker.arm(death);
      await ask('POST /api/events/tick', { name }, name).catch(() => undefined);
      // With another replica beside it, that one may have been the faster.
      const late = new Promise((resolve) => setTimeout(() => resolve('it lives'), other ? 3_000 : 20_000));
      const end = await Promise.race([gone, late]);
      expect(other !== undefined || end !== 'it lives').toBe(true);
      await worker.kill();
      worker = await fork();
      // Its sender has heard nothing, or sends it once more: it is the same.
      await ask('POST /api/events/tick', { name }, name);
      await until(async () => (await read('completed')).length === WAITING, 20_000);
      expect((await read('completed')).map(({ output }) => output)).toEqual(ids.map(() => ({ name })));
      sent += 1;
      await until(async () => (await listOf('svc.event', 'completed')).length === sent, 20_000);
      expect(await listOf('ticked')).toHaveLength(sent);
    },
    90_000,
  );

  async function listOf(name: string, status?: string): Promise<Run[]> {
    const of = status === undefined ? '' : `&status=${status}`;
    return (await ask<{ items: Run[] }>(`GET /api/runs?name=${name}${of}&limit=200`)).items;
  }

  async function ask<T>(route: string, body?: object, key?: string): Promise<T> {
    const [method = '', path = ''] = route.split(' ');
    const headers = { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) };
    const answer = await fetch(worker.url + path, { method, ...(body ? { body: JSON.stringify(body), headers } : {}) });
    return (await answer.json()) as T;
  }
}
