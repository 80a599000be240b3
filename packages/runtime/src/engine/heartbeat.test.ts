import { expect, test } from 'vitest';
import { errorOf, outputOf, step, useBenches } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { getStepMetadata, heartbeat } from './primitives/metadata.ts';
import type { StepOptions } from './primitives/step.ts';

// A step that says that it is getting on, and one that has stopped saying so.

const bench = useBenches();

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** `step` knows the options of old. */
function beating(name: string, work: () => unknown, options: StepOptions): () => Promise<unknown> {
  return Object.assign(step(name, work), options);
}

describeOnStores('a step with a heartbeat timeout', (newPlace) => {
  test('goes on for longer than that while it beats', async () => {
    let beats = 0;
    const crawl = beating(
      'crawl',
      async () => {
        for (; beats < 40; beats++) {
          heartbeat();
          await pause(20);
        }
        return getStepMetadata().attempt;
      },
      { heartbeatTimeout: 200, maxRetries: 0 },
    );
    const { run } = await bench(newPlace(), { go: async () => crawl() });
    expect([outputOf(await run('go')), beats]).toEqual([1, 40]);
  });

  test('is aborted and tried again once it has stopped', async () => {
    const reasons: unknown[] = [];
    const crawl = beating(
      'crawl',
      async () => {
        const { attempt, signal } = getStepMetadata();
        if (attempt === 2) return attempt;
        heartbeat();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        reasons.push(signal.reason);
        return 'too late to count';
      },
      { heartbeatTimeout: 50, backoff: { initial: 1 } },
    );
    const { run } = await bench(newPlace(), { go: async () => crawl() });
    expect(outputOf(await run('go'))).toBe(2);
    expect(reasons).toEqual([expect.objectContaining({ code: 'step_heartbeat_timeout' })]);
  });

  test('fails with its code when no attempt is left, and had it never beaten', async () => {
    const hang = beating('hang', () => new Promise(() => {}), { heartbeatTimeout: '40ms', maxRetries: 0 });
    const { run } = await bench(newPlace(), { go: async () => hang() });
    expect(errorOf(await run('go'))).toMatchObject({
      code: 'step_heartbeat_timeout',
      message: 'The attempt has not called heartbeat() for 40 ms.',
    });
  });

  test('that is none is refused, and so is a beat of a body', async () => {
    const never = beating('never', () => 1, { heartbeatTimeout: 0 });
    const { run } = await bench(newPlace(), {
      zero: async () => never(),
      body: async () => heartbeat(),
    });
    expect(errorOf(await run('zero'))).toMatchObject({
      message: '"never.heartbeatTimeout" is 0; it must be longer than 0.',
    });
    expect(errorOf(await run('body'))).toMatchObject({ message: 'heartbeat() works in a step only.' });
  });
});
