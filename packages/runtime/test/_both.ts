import { describe } from 'vitest';
import { createCluster } from './_cluster.ts';
import type { ReplicaOptions } from './_cluster.ts';
import type { TestBox, TestBoxes } from './_setup.ts';
import { describeWhen, realServers } from './require.ts';

export type OpenBox = (options: ReplicaOptions) => Promise<TestBox>;

/** The same suite on a journal in SQLite and, where there is a server, on one in Postgres. */
export function describeOnBoth(boxes: TestBoxes, name: string, suite: (open: OpenBox) => void): void {
  describe(`${name}, on SQLite`, () => {
    suite(({ engine, kv: _none, ...setup }) =>
      boxes.open({ ...setup, options: { ...(engine ? { engine } : {}), ...setup.options } }),
    );
  });
  describeWhen(realServers.database, `${name}, on Postgres`, (database) => {
    suite((options) => openReplica(createCluster(boxes, { database, kv: '' }), options));
  });
}

// --- internal ---

/** Its restart is another replica, on the same journal. */
async function openReplica(cluster: OpenBox, options: ReplicaOptions): Promise<TestBox> {
  const box = await cluster({ kv: null, ...options });
  return {
    ...box,
    async restart(program) {
      await box.shut();
      return openReplica(cluster, { ...options, ...program });
    },
  };
}
