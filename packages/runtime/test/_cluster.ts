import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { BoxOptions } from '../src/box/options.ts';
import type { Journal } from '../src/engine/journal.ts';
import { openPostgresJournal } from '../src/engine/stores/postgres/journal.ts';
import { createLog } from '../src/log.ts';
import { openRedisKv } from '../src/stores/kv-redis.ts';
import { openPg } from '../src/stores/pg.ts';
import { realServers } from './require.ts';
import type { Requirement } from './require.ts';
import type { TestBox, TestBoxOptions, TestBoxes } from './_setup.ts';

export interface Servers {
  database: string;
  kv: string;
}

/** Both servers of `.ci/services.sh`. */
export const bothServers: Requirement<Servers> = {
  value:
    realServers.database.value && realServers.kv.value
      ? { database: realServers.database.value, kv: realServers.kv.value }
      : undefined,
  missing: `${realServers.database.missing} and ${realServers.kv.missing}`,
};

/** The keys and channels of the server whose names hold the text, in each of its databases. */
export async function namesOnRedis(url: string, text: string): Promise<string[]> {
  const { Redis } = await import('ioredis');
  const redis = new Redis(url);
  try {
    const names = (await redis.pubsub('CHANNELS', `*${text}*`)) as string[];
    for (const index of [0, 1]) {
      await redis.select(index);
      names.push(...(await redis.keys(`*${text}*`)));
    }
    return names;
  } finally {
    redis.disconnect();
  }
}

export interface ReplicaOptions extends TestBoxOptions {
  engine?: BoxOptions['engine'];
  /** Where this replica's Redis is. `null`: it has none. Default: the server's. */
  kv?: string | null;
  /** Stands before the journal of this replica. */
  around?: (journal: Journal) => Journal;
}

/** Times at which nothing is found by looking within a test: what happens was published. */
export const WITHOUT_LOOKS = { sweepMs: 120_000, pollMs: 120_000 };

/** Replicas of one box, on a schema and a prefix of their own that go with the test. */
export function createCluster(boxes: TestBoxes, servers: Servers): (options: ReplicaOptions) => Promise<TestBox> {
  const id = randomUUID().replaceAll('-', '');
  const schema = `cluster_${id}`;
  onTestFinished(async () => {
    const sql = openPg(servers.database);
    await sql.exec(`drop schema if exists ${schema} cascade`).finally(() => sql.close());
  });
  return async ({ engine, kv: kvUrl = servers.kv, around = (journal) => journal, ...setup }) => {
    const sql = openPg(servers.database);
    onTestFinished(() => sql.close());
    const journal = around(await openPostgresJournal({ sql, schema }));
    const log = createLog({ level: 'silent', write() {} });
    const kv = kvUrl === null ? undefined : openRedisKv({ url: kvUrl, prefix: `test:${id}`, log });
    onTestFinished(() => kv?.close());
    return boxes.open({
      ...setup,
      journal,
      // No test ends later for a step that it still holds.
      options: { exclusive: false, ...(kv ? { kv } : {}), engine: { drainMs: 0, ...engine }, ...setup.options },
    });
  };
}
