import { expect, test } from 'vitest';
import { createKeyLookup } from './key-lookup.ts';

/** A table of keys, whose queries end when they are let go. */
function open() {
  const rows = new Set<string>();
  const queries: string[][] = [];
  let held: Promise<void> | undefined;
  let letGo = (): void => {};
  const keys = createKeyLookup(async (ids) => {
    queries.push(ids);
    const found = ids.filter((id) => rows.has(id)).map((id) => ({ id }));
    await held;
    return found;
  });
  return {
    keys,
    rows,
    queries,
    hold: () => void (held = new Promise((resolve) => (letGo = resolve))),
    letGo: () => letGo(),
  };
}

test('a flood of ids there are not is a few queries', async () => {
  const { keys, queries } = open();
  const found = await Promise.all(Array.from({ length: 1_001 }, (_, n) => keys.find(`id-${n}`)));
  expect(new Set(found)).toEqual(new Set([undefined]));
  expect(queries.map((ids) => ids.length)).toEqual([1, 500, 500]);
});

test('an id there is not is asked for once while that is remembered, and again within seconds', async () => {
  const { keys, rows, queries } = open();
  for (let n = 0; n < 10; n++) expect(await keys.find('a')).toBeUndefined();
  expect(queries.length).toBeLessThan(10);
  // No one says so: another replica made it, and what publishes it is away.
  rows.add('a');
  await expect.poll(() => keys.find('a'), { timeout: 10_000 }).toEqual({ id: 'a' });
});

test('a key that was just made is found at once, also while an older query for it is under way', async () => {
  const { keys, rows, queries, hold, letGo } = open();
  expect(await keys.find('a')).toBeUndefined();
  rows.add('a');
  keys.forget('a');
  expect(await keys.find('a')).toEqual({ id: 'a' });
  hold();
  const early = keys.find('b');
  await expect.poll(() => queries.flat()).toContain('b');
  rows.add('b');
  keys.forget('b');
  const late = keys.find('b');
  letGo();
  expect([await early, await late]).toEqual([undefined, { id: 'b' }]);
  expect(await keys.find('b')).toEqual({ id: 'b' });
});

test('a query that fails is reported to all who asked, and the next one is another', async () => {
  let isDown = true;
  const keys = createKeyLookup(async (ids) => {
    if (isDown) throw new Error('away');
    return ids.map((id) => ({ id }));
  });
  const both = await Promise.allSettled([keys.find('a'), keys.find('a'), keys.find('b')]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  isDown = false;
  expect(await keys.find('a')).toEqual({ id: 'a' });
});
