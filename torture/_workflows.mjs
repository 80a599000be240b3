// @ts-check
/** What the boxes of a torture run. Every step calls the receiver with the key it was handed. */
import { createHook, getStepMetadata, sleep } from '../packages/runtime/dist/index.mjs';
import { createStep } from '../packages/runtime/dist/internal.mjs';

/**
 * @param {{ receiver: string, onAbort(key: string, reason: string): void }} options
 * @returns {Record<string, { run: (input: any) => Promise<unknown>, serial?: boolean }>}
 */
export function createWorkflows({ receiver, onAbort }) {
  const effect = Object.assign(
    createStep('torture#effect', async (/** @type {{ hold?: string, fails?: boolean, what?: string }} */ body) => {
      const { idempotencyKey, attempt, signal } = getStepMetadata();
      const headers = { 'content-type': 'application/json', 'idempotency-key': idempotencyKey };
      const stopped = () => onAbort(idempotencyKey, String(signal.reason?.message ?? signal.reason));
      signal.addEventListener('abort', stopped);
      const answer = await fetch(receiver, { method: 'POST', headers, body: JSON.stringify(body), signal });
      const { n } = /** @type {{ n: number }} */ (await answer.json());
      signal.removeEventListener('abort', stopped);
      if (body.fails && attempt === 1) throw new Error('Once more.');
      return n;
    }),
    { backoff: { initial: 1 } },
  );
  const linger = createStep('torture#linger', async (/** @type {{ ms: number }} */ { ms }) => {
    const { idempotencyKey, signal } = getStepMetadata();
    const headers = { 'content-type': 'application/json', 'idempotency-key': idempotencyKey };
    await new Promise((resolve) => setTimeout(resolve, ms));
    const answer = await fetch(receiver, { method: 'POST', headers, body: '{}', signal });
    return /** @type {{ n: number }} */ (await answer.json()).n;
  });
  const note = createStep('torture#note', async (/** @type {unknown} */ given) => given);
  return {
    /** Steps in pairs, some of which fail once, and short sleeps. */
    work: {
      async run({ steps }) {
        for (let index = 0; index < steps; index += 2) {
          await Promise.all([effect({ fails: index % 6 === 2 }), effect({})]);
          if (index % 6 === 4) await sleep(5);
        }
        return steps;
      },
    },
    /** One step that the receiver answers when `first` is released, beside one that goes on until `second` is. */
    pair: {
      run: ({ first, second }) => Promise.all([effect({ hold: first }), effect({ hold: second })]),
    },
    /** One at a time: comes in, goes out. The first may be held inside. */
    line: {
      serial: true,
      async run({ place, hold }) {
        await effect({ what: `in ${place}`, ...(hold ? { hold } : {}) });
        await effect({ what: `out ${place}` });
      },
    },
    /** One step that takes its time. */
    long: {
      async run({ ms }) {
        await linger({ ms });
        return ms;
      },
    },
    nap: {
      run: () => sleep('1 hour'),
    },
    /** A step after the resume, which calls no one. */
    wait: {
      async run({ token }) {
        return note(await createHook({ token }));
      },
    },
    ask: {
      async run({ token }) {
        const answer = await createHook({ token });
        await effect({});
        return answer;
      },
    },
  };
}
