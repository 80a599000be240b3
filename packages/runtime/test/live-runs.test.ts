import { expect, onTestFinished, test } from 'vitest';
import { liveOf } from '../../client/src/live.ts';
import { createClient } from '../src/client.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { getWritable } from '../src/engine/primitives/writable.ts';
import { setupBoxes, startWorkflow, toStep, until } from './_setup.ts';

const boxes = setupBoxes();

const writeAll = toStep('writeAll', async () => {
  const writer = getWritable<number>().getWriter();
  for (let n = 1; n <= 5; n += 1) await writer.write(n);
  writer.releaseLock();
});
const workflows = {
  count: { run: async () => writeAll() },
  wait: { run: async () => createHook({ token: 'never' }) },
};

async function open() {
  const box = await boxes.open({ workflows });
  return { box, live: liveOf(createClient({ baseUrl: await box.listen() })) };
}

test.each([
  [1, [5]],
  [2, [4, 5]],
  [9, [1, 2, 3, 4, 5]],
])('of a stream the newest %d frames are kept', async (limit, frames) => {
  const { box, live } = await open();
  const view = live.frames(await startWorkflow(box, 'count'), 'default', limit);
  onTestFinished(view.subscribe(() => {}));
  await until(() => view.get().isOver);
  expect(view.get().frames).toEqual(frames);
});

test('a run that is read stays what it is, however many others are looked at', async () => {
  const { box, live } = await open();
  const runId = await startWorkflow(box, 'wait');
  const shown = live.run(runId);
  onTestFinished(shown.subscribe(() => {}));
  const left = live.run('left');
  for (let n = 0; n < 300; n += 1) live.run(`other-${n}`);
  expect(live.run(runId)).toBe(shown);
  // One that has no reader is forgotten in the end.
  expect(live.run('left')).not.toBe(left);
});
