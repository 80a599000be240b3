import { expect, test } from 'vitest';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { storeUnavailable } from '../src/stores/client.ts';
import type { StoreClient } from '../src/stores/client.ts';
import { createDrizzle } from '../src/stores/drizzle.ts';
import { createMemoryKv } from '../src/stores/kv-memory.ts';
import type { KeyValueStore } from '../src/stores/kv.ts';
import { setupBoxes } from './_setup.ts';

const boxes = setupBoxes();

test('a boot that fails midway closes what it had opened', async () => {
  const kv = countSubscriptions(createMemoryKv());
  const options = { exclusive: false, secretKey: newMasterKey(), kv: kv.store, db: createDrizzle(UNREACHABLE, ready) };
  await expect(boxes.open({ options })).rejects.toMatchObject({ cause: { code: 'store_unavailable' } });
  expect(kv.begun()).toBeGreaterThan(3);
  expect(kv.open()).toBe(0);
});

const ready = Promise.resolve();
const refuse = () => Promise.reject(storeUnavailable('The database cannot be reached.'));
const UNREACHABLE: StoreClient = {
  ready,
  query: refuse,
  queryArrays: refuse,
  exec: refuse,
  transaction: refuse,
  close: async () => {},
};

function countSubscriptions(store: KeyValueStore) {
  const open = new Set<symbol>();
  let begun = 0;
  const subscribe: KeyValueStore['subscribe'] = async (topic, listener) => {
    const id = Symbol(topic);
    begun += 1;
    open.add(id);
    const stop = await store.subscribe(topic, listener);
    return () => {
      open.delete(id);
      stop();
    };
  };
  return { store: { ...store, subscribe }, begun: () => begun, open: () => open.size };
}
