import { expect, it } from 'vitest';
import { searchJson } from './search.ts';

it('finds names and values in the order they are shown, whichever case they are in', async () => {
  const value = { Name: 'Ada', list: [{ name: 'Bob' }, 'NAMELESS', 7], none: null };
  expect((await searchJson(value, 'name')).hits).toEqual([['Name'], ['list', 0, 'name'], ['list', 1]]);
  expect((await searchJson(value, 'null')).hits).toEqual([['none']]);
  expect((await searchJson('a text', 'TEXT')).hits).toEqual([[]]);
  expect((await searchJson(value, '')).hits).toEqual([]);
});

it('says that there are more than it gives', async () => {
  const value = Array.from({ length: 1_000 }, () => 'x');
  expect(await searchJson(value, 'x', { mostHits: 10 })).toMatchObject({ isCut: true, hits: { length: 10 } });
  expect(await searchJson(value.slice(0, 10), 'x', { mostHits: 10 })).toMatchObject({ isCut: false });
});

it('lets others have a turn, and stops when asked to', async () => {
  const value = Array.from({ length: 40_000 }, (_, id) => ({ id }));
  const stop = new AbortController();
  let turns = 0;
  const other = setInterval(() => (turns += 1), 0);
  await searchJson(value, 'nowhere', { sliceMs: 1 });
  clearInterval(other);
  expect(turns).toBeGreaterThan(0);
  const search = searchJson(value, 'nowhere', { sliceMs: 1, signal: stop.signal });
  stop.abort();
  await expect(search).rejects.toMatchObject({ name: 'AbortError' });
});

it('a value that is nested ten thousand deep has an end', async () => {
  let deep: unknown = 'the end';
  for (let at = 0; at < 10_000; at += 1) deep = [deep];
  expect((await searchJson(deep, 'the end')).hits[0]).toHaveLength(10_000);
});
