import { expect, test } from 'vitest';
import { newJournalPath, step, useBenches } from './_setup.ts';
import { decode } from './serialize.ts';
import { getWritable } from './primitives/writable.ts';

const bench = useBenches();

test('what steps write to a stream is kept in order and by name', async () => {
  const say = step('say', async (to: WritableStream<string>, texts: string[]) => {
    const writer = to.getWriter();
    for (const text of texts) await writer.write(text);
    const other = getWritable<string>({ namespace: 'aside' }).getWriter();
    await other.write('psst');
  });
  const opened = await bench(newJournalPath(), { talk: async () => say(getWritable<string>(), ['a', 'b', 'c']) });
  const { runId } = await opened.run('talk');
  const chunks = await opened.journal.chunks.read(runId, 'default', { after: 0, limit: 10 });
  expect(chunks.map(({ payload }) => decode(payload))).toEqual(['a', 'b', 'c']);
  expect(await opened.journal.chunks.read(runId, 'aside', { after: 0, limit: 10 })).toHaveLength(1);
});
