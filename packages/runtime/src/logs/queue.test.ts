import { describe, expect, onTestFinished, test } from 'vitest';
import type { LogFields, LogLevel } from '../log.ts';
import { storeUnavailable } from '../stores/client.ts';
import type { NewLogEntry } from './entry.ts';
import { toNewEntry } from './entry.ts';
import { createLogQueue } from './queue.ts';
import type { LogQueueLimits } from './queue.ts';

const LATER = { delayMs: 3_600_000 };

function open(limits: Partial<LogQueueLimits> = {}) {
  const batches: NewLogEntry[][] = [];
  const warnings: [string, LogFields | undefined][] = [];
  const store = {
    refuse: undefined as Error | undefined,
    async append(entries: readonly NewLogEntry[]) {
      if (store.refuse) throw store.refuse;
      batches.push([...entries]);
      return batches.flat().length;
    },
  };
  const stored: number[] = [];
  const queue = createLogQueue({
    store,
    log: { warn: (message, fields) => void warnings.push([message, fields]) },
    onStored: (last) => void stored.push(last),
    limits: { delayMs: 1, retryMs: 1, ...limits },
  });
  onTestFinished(() => queue.close());
  const push = (message: string, level: LogLevel = 'info') => queue.push(toEntry(message, level));
  const messages = () => batches.flat().map(({ message }) => message);
  return { queue, push, store, batches, messages, warnings, stored };
}

function toEntry(message: string, level: LogLevel): NewLogEntry {
  return toNewEntry({ time: '2026-01-01T00:00:00.000Z', level, message });
}

const until = (condition: () => boolean) => expect.poll(condition, { timeout: 10_000, interval: 2 }).toBe(true);
const numbers = (count: number) => Array.from({ length: count }, (_, n) => String(n));

describe('the queue of log records', () => {
  test('sends what came within its time in one statement, in order', async () => {
    const { push, batches, messages, stored } = open();
    numbers(20).forEach((message) => push(message));
    await until(() => messages().length === 20);
    expect(batches).toHaveLength(1);
    expect(messages()).toEqual(numbers(20));
    expect(stored).toEqual([20]);
  });

  test('sends a full batch at once', async () => {
    const { push, batches, messages } = open({ ...LATER, batch: 10 });
    numbers(25).forEach((message) => push(message));
    await until(() => messages().length === 25);
    expect(batches.map(({ length }) => length)).toEqual([10, 10, 5]);
  });

  test('stores what is left when it is closed, and nothing after', async () => {
    const { queue, push, messages } = open(LATER);
    push('one');
    await queue.close();
    push('two');
    expect(messages()).toEqual(['one']);
  });

  test('holds what the store cannot take, and stores it in order once it can', async () => {
    const { push, store, messages, warnings } = open({ warnEveryMs: 60_000 });
    store.refuse = storeUnavailable('Gone.');
    numbers(5).forEach((message) => push(message));
    await until(() => warnings.length > 0);
    push('last');
    expect(warnings).toEqual([[expect.stringMatching(/^Log records cannot be stored/), { error: store.refuse }]]);
    store.refuse = undefined;
    await until(() => messages().length === 6);
    expect(messages()).toEqual([...numbers(5), 'last']);
  });

  test('drops the oldest of the least important when it is full, and says how many', async () => {
    const { push, store, messages, warnings, batches } = open({ entries: 100, batch: 50 });
    store.refuse = storeUnavailable('Gone.');
    push('error', 'error');
    numbers(60).forEach((message) => push(`debug ${message}`, 'debug'));
    numbers(79).forEach((message) => push(`info ${message}`, 'info'));
    await until(() => warnings.length > 0);
    store.refuse = undefined;
    push('wake');
    await until(() => messages().includes('wake'));
    const kept = messages();
    expect(kept).toContain('error');
    expect(kept).toContain('debug 59');
    expect(kept).not.toContain('debug 0');
    expect(kept.filter((message) => message.startsWith('info'))).toHaveLength(79);
    const notices = batches.flat().filter(({ message }) => /^\d+ log records were dropped/.test(message));
    const counts = notices.map(({ fields }) => JSON.parse(fields ?? '{}') as { dropped: { debug: number } });
    const dropped = counts.reduce((sum, { dropped: { debug } }) => sum + debug, 0);
    expect(dropped).toBe(60 - kept.filter((message) => message.startsWith('debug')).length);
    expect(notices.length).toBeGreaterThan(0);
  });

  test('holds no more bytes than it may', async () => {
    const { queue, push, store, messages } = open({ ...LATER, bytes: 100_000 });
    numbers(50).forEach((message) => push(message.padEnd(5_000, 'x')));
    store.refuse = undefined;
    await queue.close();
    expect(messages().length).toBeLessThan(12);
    expect(messages().at(-1)).toMatch(/^49x/);
  });

  test('drops a batch that the database refuses for what it is, and goes on', async () => {
    const { push, store, messages, warnings } = open();
    store.refuse = new Error('invalid byte sequence');
    push('bad');
    await until(() => warnings.length === 1);
    store.refuse = undefined;
    push('good');
    await until(() => messages().includes('good'));
    expect(messages()).toEqual([expect.stringMatching(/^1 log records were dropped/), 'good']);
  });

  test('forgets what waits of a run', async () => {
    const { queue, push, messages } = open(LATER);
    push('kept');
    const runId = '0190d0a0-0000-7000-8000-000000000000';
    queue.push({ ...toEntry('gone', 'info'), runId });
    await queue.forget([runId]);
    await queue.close();
    expect(messages()).toEqual(['kept']);
  });
});
