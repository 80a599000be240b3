import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../_setup.ts';
import type { FromIsolated, IsolatedProcess } from '../isolation.ts';
import type { RunRow } from '../journal/run.ts';
import { openGroup } from './isolated-group.ts';

/** A process that is ready and then says that it lives, or is silent. */
function startProcess(isSilent: boolean): { process: IsolatedProcess; isKilled(): boolean; heard(): number } {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
    parentPort.postMessage({ type: 'ready', owner: 'other' });
    if (${!isSilent}) setInterval(() => parentPort.postMessage({ type: 'alive' }), 100);
    else setInterval(() => {}, 1_000);`,
    { eval: true },
  );
  onTestFinished(async () => void (await worker.terminate()));
  let isKilled = false;
  let heard = 0;
  const process: IsolatedProcess = {
    send: () => {},
    kill: () => void (isKilled = true),
    onMessage: (listener) =>
      void worker.on('message', (message: FromIsolated) => {
        heard += 1;
        listener(message);
      }),
    onExit: (listener) => void worker.once('exit', listener),
  };
  return { process, isKilled: () => isKilled, heard: () => heard };
}

function openPair(process: IsolatedProcess): void {
  const runs = ['a', 'b'].map((runId) => ({ runId }) as RunRow);
  const journal = { renew: async () => [] } as never;
  openGroup(runs, { process, journal, owner: 'own', leaseMs: 60_000, isOpen: true, isAlone: false, onMessage() {} });
}

test('a process of several suspects that lives stays, however long this one stood still', async () => {
  const { process, isKilled, heard } = startProcess(false);
  openPair(process);
  await until(() => heard() > 1);
  const end = performance.now() + 4_200;
  while (performance.now() < end);
  const before = heard();
  await until(() => heard() > before + 10);
  expect(isKilled()).toBe(false);
});

test('one that says nothing any more is ended', async () => {
  const { process, isKilled } = startProcess(true);
  openPair(process);
  await until(isKilled, 30_000);
});
