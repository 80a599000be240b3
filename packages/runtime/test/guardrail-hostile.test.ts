import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { existsSync } from 'node:fs';
import { toHostileText, toNumbers } from './fixtures/hostile-text.mjs';
import { startGrowthBox } from './_growth.ts';
import type { GrowthBox } from './_growth.ts';
import { post } from './_growth-shapes.ts';

/** As JSON it is the megabyte that a request may have. */
const TEXT = toHostileText(900_000);
const NUMBERS = ['12,', '16 '].map((like) => toNumbers(900_000, Number(like.slice(0, 2)), like.slice(2)));
/** Many times what it takes: what grows with the square of the text takes minutes. A machine at work besides has more. */
const MOST_MS = { took: 2_000, live: 1_000 };
/** How many times as long as the same request without a rule that may be instead. */
const MOST_TIMES = { took: 20, live: 10 };
/** Milliseconds of the processor that nothing else of the box has its turn. */
const MOST_HELD_MS = 400;
/** In which a quick machine encodes and parses so many bytes. */
const YARDSTICK = { bytes: 8 * 1_048_576, ms: 100 };
const TRIES = 4;

const kinds = ['email', 'phone', 'iban', 'card', 'ip', 'national-id', 'secret'];
const CHECKS: [name: string, check: object, text?: string][] = [
  ['regex', { kind: 'regex', pattern: '(a+)+c|(?:[a-z0-9@]+[- ]?)*!$|x[\\s\\S]*y', ignoreCase: true }],
  ['words', { kind: 'words', words: ['aaaaaaaaaa', 'aab', '4 4', 'bearer bear', 'zz'], wholeWord: false }],
  ['whole words', { kind: 'words', words: ['aaaaaaaaaa', 'a b', 'send passwords'] }],
  ...kinds.map((kind): [string, object] => [kind, { kind: 'pii', kinds: [kind] }]),
  ['all kinds of pii', { kind: 'pii', kinds }],
  ...NUMBERS.map((text): [string, object, string] => [`pii of ${text.slice(0, 34)}`, { kind: 'pii', kinds }, text]),
  ['injection', { kind: 'injection' }],
  ['length', { kind: 'length', min: 2_000_000 }],
  ['schema', { kind: 'schema', schema: { type: 'object' } }],
];

const isMeasured = existsSync('/proc/self/schedstat');
describe.skipIf(!isMeasured)(
  `a megabyte that is hard on a check${isMeasured ? '' : ' [needs /proc/self/schedstat]'}`,
  () => {
    let box: GrowthBox;
    beforeAll(async () => {
      box = await startGrowthBox();
    });
    afterAll(() => box?.close());

    const judge = async (text: string, more: object): Promise<number> => {
      const from = performance.now();
      const answer = await post(`${box.url}/api/guardrails/test`, JSON.stringify({ text, ...more }));
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"verdict":"pass"')]);
      return performance.now() - from;
    };

    test.each(CHECKS)(
      'is judged while `/live` goes on answering: %s',
      { timeout: 300_000 },
      async (name, check, text = TEXT) => {
        const rule = { check, action: 'audit' };
        // What else the machine does falls on one try or another: the quickest of each counts.
        let [took, live, held, none, answers] = [Infinity, Infinity, Infinity, 0, 0];
        const isQuick = async () =>
          answers > 1 &&
          took < Math.max(MOST_MS.took, none * MOST_TIMES.took) &&
          live < Math.max(MOST_MS.live, none * MOST_TIMES.live) &&
          held < MOST_HELD_MS * Math.max(1, (await box.yardstick(YARDSTICK.bytes)) / YARDSTICK.ms);
        for (let tries = 0; tries < TRIES; tries++) {
          none = Math.max(none, await judge(text, {}));
          await box.longest();
          const watched = watchLive(box);
          took = Math.min(took, await judge(text, { rule }));
          const one = await watched.end();
          live = Math.min(live, one.slowest);
          answers = Math.max(answers, one.answers);
          held = Math.min(held, await box.longest());
          if (process.env['GROWTH_LOG'])
            process.stderr.write(
              `${name}: ${took.toFixed(0)} ms, without a rule ${none.toFixed(0)}, /live ${live.toFixed(0)}, held ${held.toFixed(0)}, ${answers} answers\n`,
            );
          if (await isQuick()) return;
        }
        expect.fail(`It is not quick: ${JSON.stringify({ took, live, held, none, answers })}`);
      },
    );
  },
);

// --- internal ---

/** Asks `/live` all the time, and says how long the slowest answer took. */
function watchLive({ url }: GrowthBox): { end(): Promise<{ slowest: number; answers: number }> } {
  const over = new AbortController();
  const watching = (async () => {
    let [slowest, answers] = [0, 0];
    while (!over.signal.aborted) {
      const from = performance.now();
      const answer = await fetch(`${url}/live`);
      await answer.text();
      expect(answer.status).toBe(200);
      slowest = Math.max(slowest, performance.now() - from);
      answers += 1;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    return { slowest, answers };
  })();
  watching.catch(() => {});
  return {
    end() {
      over.abort();
      return watching;
    },
  };
}
