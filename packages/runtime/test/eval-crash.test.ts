import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startModelServer } from '../../../playground/model-server.mjs';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { describeWhen, realServers } from './require.ts';
import { until } from './_setup.ts';
import type { ModelServer } from './_setup.ts';
import { forkWorker } from './_turn-worker.ts';
import type { Death, Worker } from './_turn-worker.ts';

const CASES = 24;
const CONCURRENCY = 4;

interface EvalRun {
  id: string;
  status: string;
  passed: boolean | null;
  summary: { results: number; passed: number };
}

describeWhen(realServers.database, 'a suite over two replicas', (server) => {
  let folder: string;
  let model: ModelServer;
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let [first, second]: Worker[] = [];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-eval-crash-'));
    model = await startModelServer();
    database = await createDatabase(server);
    const fork = () => forkWorker({ folder, modelUrl: model.url, database: database.url });
    first = await fork();
    second = await fork();
  }, 60_000);
  afterEach(async () => {
    await Promise.all([first?.kill(), second?.kill()]);
    await model.close();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = async <T>(at: Worker | undefined, route: string, body?: object): Promise<T> => {
    const [method = '', path = ''] = route.split(' ');
    const headers = { 'content-type': 'application/json' };
    const init = body ? { body: JSON.stringify(body), headers } : {};
    return (await (await fetch(`${at?.url}/api${path}`, { method, ...init })).json()) as T;
  };

  const IN_RESULT = 'insert into "svc"."eval_results"';
  test.each<[string, Death | undefined]>([
    ['at any moment', undefined],
    ['before a result is written', { sql: IN_RESULT, when: 'before', nth: 9 }],
    ['between a result and its record', { sql: IN_RESULT, when: 'after', nth: 9 }],
    // The first is the run of the suite itself.
    ['before the run of the first case is started', { journal: 'create', nth: 2 }],
    ['before the run of a case is started', { journal: 'create', nth: 10 }],
  ])(
    'goes on in the other when the one that launched it is killed %s, and runs no case twice',
    async (_, death) => {
      for (let n = 0; n < CASES; n += 1)
        await ask(first, 'POST /evals/cases', {
          name: `case ${n}`,
          target: { kind: 'agent', name: 'payer' },
          input: `tool:pay ${JSON.stringify({ n })}; say:Done ${n}.`,
          expected: `Done ${n}.`,
          tags: ['all'],
        });
      const scorers = [{ type: 'exact' }];
      await ask(first, 'POST /evals/suites', { name: 'all', tags: ['all'], scorers, concurrency: CONCURRENCY });
      const gone = first && once(first.child, 'exit');
      // Before the launch, as it may be over before one is told where to die.
      if (death) await first?.arm(death);
      const launched = await ask<EvalRun>(first, 'POST /evals/suites/all/run', {}).catch(() => undefined);
      const { items } = await ask<{ items: EvalRun[] }>(second, 'GET /evals/runs');
      const { id, status } = launched ?? (items[0] as EvalRun);
      expect(status).toBe('running');
      const look = (wait = 0) => ask<EvalRun>(second, `GET /evals/runs/${id}?limit=1&wait=${wait}`);
      if (!death) {
        await until(async () => (await look()).summary.results >= 6, 30_000);
        first?.child.kill('SIGKILL');
      }
      await gone;
      expect((await look()).summary.results).toBeLessThan(CASES);

      await until(async () => (await look(10)).status !== 'running', 40_000);
      expect(await look()).toMatchObject({
        status: 'completed',
        passed: true,
        summary: { results: CASES, passed: CASES },
      });
      const below = await ask<{
        items: { runId: string; status: string; input: { messages: { content: string }[] } }[];
      }>(second, `GET /runs?parent=${id}&limit=200`);
      const asked = below.items.map(({ input }) => input.messages[0]?.content);
      expect([asked.length, new Set(asked).size]).toEqual([CASES, CASES]);
      expect(below.items.every((run) => run.status === 'completed')).toBe(true);
      // What was under way is done again, under the key it has had.
      const paid = readFileSync(join(folder, 'paid.txt'), 'utf8').trim().split('\n');
      expect(new Set(paid).size).toBe(CASES);
      expect(paid.length).toBeLessThanOrEqual(CASES + CONCURRENCY);
    },
    120_000,
  );
});
