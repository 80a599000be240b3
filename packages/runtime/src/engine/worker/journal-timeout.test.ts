import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { newJournalPath } from '../_setup.ts';
import type { Journal } from '../journal.ts';
import { openSqliteJournal } from '../stores/sqlite/journal.ts';
import { boundJournal } from './journal-timeout.ts';

const LIMIT_MS = 200;

async function open(now: Journal['now']): Promise<Journal> {
  const journal = await openSqliteJournal({ path: newJournalPath() });
  onTestFinished(() => journal.close());
  return boundJournal({ ...journal, now }, LIMIT_MS);
}

function holdEventLoop(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('a call that is not answered is rejected after about its time', async () => {
  const journal = await open(() => new Promise(() => {}));
  const begun = performance.now();
  await expect(journal.now()).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringContaining(`"now" within 0.2 seconds`),
  });
  expect(performance.now() - begun).toBeGreaterThanOrEqual(LIMIT_MS);
});

test('an answer that came while code held the event loop is no late one', async () => {
  const journal = await open(async () => (await stat(fileURLToPath(import.meta.url))).size);
  for (let round = 0; round < 5; round++) {
    const answer = journal.now();
    // The timer is set; then nothing is read for longer than the call may take.
    await new Promise((resolve) => setImmediate(resolve));
    holdEventLoop(2 * LIMIT_MS);
    expect(await answer).toBeGreaterThan(0);
  }
});

test('a process that holds its event loop again and again waits no longer than that', async () => {
  const journal = await open(() => new Promise(() => {}));
  const call = { isOver: false };
  journal.now().catch(() => (call.isOver = true));
  for (let round = 0; round < 60 && !call.isOver; round++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    holdEventLoop(120);
  }
  expect(call.isOver).toBe(true);
});
