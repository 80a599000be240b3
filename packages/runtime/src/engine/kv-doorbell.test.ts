import { expect, test } from 'vitest';
import { until } from '../../test/_setup.ts';
import { createKvDoorbell } from './kv-doorbell.ts';
import { createMemoryKv } from '../stores/kv-memory.ts';

function hearing(kv = createMemoryKv(), owner = 'B') {
  const heard: string[] = [];
  const doorbell = createKvDoorbell(kv, owner);
  doorbell.listen((kind, runId) => heard.push(`${kind} ${runId}`));
  return { kv, doorbell, heard };
}

test('a ring is heard by the others and not by who rings', async () => {
  const a = hearing(undefined, 'A');
  const b = hearing(a.kv, 'B');
  a.doorbell.ring('ended', 'one');
  await until(() => b.heard.length === 1);
  b.doorbell.ring('due', 'two');
  await until(() => a.heard.length === 1);
  expect([a.heard, b.heard]).toEqual([['due two'], ['ended one']]);
});

test('what is rung together goes in one message, each ring once', async () => {
  const { kv, heard } = hearing();
  let messages = 0;
  await kv.subscribe('runs', () => messages++);
  const ringer = createKvDoorbell(kv, 'A');
  for (let n = 0; n < 100; n++) ringer.ring('written', `run-${n % 2}`);
  await until(() => heard.length > 0);
  expect({ messages, heard }).toEqual({ messages: 1, heard: ['written run-0', 'written run-1'] });
});

test('what is rung before it closes is still sent, and nothing after', async () => {
  const { kv, heard } = hearing();
  const ringer = createKvDoorbell(kv, 'A');
  ringer.ring('due', 'last');
  await ringer.close();
  ringer.ring('due', 'never');
  await until(() => heard.length === 1);
  await kv.publish('runs', JSON.stringify({ from: 'A', rings: ['due end'] }));
  await until(() => heard.length === 2);
  expect(heard).toEqual(['due last', 'due end']);
});

test.each([
  '',
  '{',
  '[]',
  'null',
  '{"from":1,"rings":[]}',
  '{"from":"A","rings":"due x"}',
  '{"from":"A","rings":[1,null]}',
])('a message that is none of ours is passed over: %s', async (message) => {
  const { kv, heard } = hearing();
  await kv.publish('runs', message);
  await kv.publish('runs', JSON.stringify({ from: 'A', rings: ['due one'] }));
  await until(() => heard.length === 1);
  expect(heard).toEqual(['due one']);
});

test('a store that is gone costs the rings, and nothing else', async () => {
  const { kv, doorbell } = hearing();
  await kv.close();
  doorbell.ring('due', 'one');
  await doorbell.close();
});
