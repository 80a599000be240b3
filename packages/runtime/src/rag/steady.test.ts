import { expect, test } from 'vitest';
import { createSteady } from './steady.ts';
import type { Opened } from './store.ts';

const toOpened = (id: string): Opened => ({ index: { id }, collection: { rerankModel: null } }) as Opened;
const never = (): Promise<never> => new Promise(() => {});

test('work with what a collection no longer is holds up no one else', async () => {
  let now: Opened | Error = toOpened('a');
  const steady = createSteady(async () => {
    if (now instanceof Error) throw now;
    return now;
  });
  expect(await steady.readAtOnce('docs', async ({ index }) => index.id)).toBe('a');
  // The model of the index before does not answer any more.
  now = toOpened('b');
  expect(await steady.readAtOnce('docs', ({ index }) => (index.id === 'a' ? never() : Promise.resolve(index.id)))).toBe(
    'b',
  );
  now = new Error('It was deleted.');
  await expect(steady.readAtOnce('docs', never)).rejects.toThrow('It was deleted.');
});

test('what fails with what a collection no longer is fails no one else', async () => {
  let now = toOpened('a');
  const steady = createSteady(async () => now);
  await steady.readAtOnce('docs', async () => 1);
  await expect(steady.readAtOnce('docs', () => Promise.reject(new Error('too late')))).rejects.toThrow('too late');
  now = toOpened('b');
  const work = ({ index }: Opened) => (index.id === 'a' ? Promise.reject(new Error('gone')) : Promise.resolve(2));
  expect(await steady.readAtOnce('docs', work)).toBe(2);
});
