import { Worker } from 'node:worker_threads';
import { real } from '../../engine/real.ts';
import { enginePath } from '../../linear-pattern.ts';
import { startTimeout } from '../../timeout.ts';

/** A text of a list, the number of a line in it, and that line, cut. Both count from 0. */
export interface Match {
  text: number;
  line: number;
  shown: string;
}

export interface PatternSearch {
  /** Of a regular expression. */
  source: string;
  isCaseIgnored?: boolean;
  texts: readonly string[];
  /** A line is looked at by itself; without it, so is each text. */
  byLine: boolean;
  /** Matches after which it ends. */
  most: number;
  /** Characters of a line that is shown. */
  width: number;
}

/**
 * Looks for regular expressions that were not reviewed, on an engine whose time grows as the texts do, and in a thread: what
 * else is done goes on.
 */
export interface Patterns {
  /**
   * Answers the matches in their order, or a sentence why there are none. `whose`: all searches of one turn together may take
   * `turnMs`.
   */
  search(whose: object, search: PatternSearch): Promise<Match[] | string>;
}

export interface PatternsOptions {
  /** Default 250. */
  searchMs?: number;
  /** Default 2,000. */
  turnMs?: number;
}

export function createPatterns({ searchMs = 250, turnMs = 2_000 }: PatternsOptions = {}): Patterns {
  const spent = new WeakMap<object, number>();
  let thread: Thread | undefined;
  let idle: NodeJS.Timeout | undefined;
  let before: Promise<unknown> = Promise.resolve();

  const searchNow = async (whose: object, search: PatternSearch): Promise<Match[] | string> => {
    const used = spent.get(whose) ?? 0;
    const left = Math.min(searchMs, turnMs - used);
    if (left < 1) return `The searches of this turn have taken ${turnMs} ms, the most they may. Go on without one.`;
    real.clearTimeout(idle);
    const one = (thread ??= openThread());
    const answer = await one.ask(search, left);
    spent.set(whose, used + answer.ms);
    if (one.isOver()) thread = undefined;
    idle = real.setTimeout(() => {
      thread?.close();
      thread = undefined;
    }, IDLE_MS);
    idle.unref();
    if ('found' in answer) return answer.found;
    return (
      answer.reason ??
      `The pattern took longer than ${Math.round(left)} ms. Write a shorter one, or search fewer files.`
    );
  };
  return {
    search(whose, search) {
      const answer = before.then(() => searchNow(whose, search));
      before = answer.catch(() => {});
      return answer;
    },
  };
}

// --- internal ---

/** A thread costs some 40 ms and 5 MB: one stays for the next search of a turn. */
const IDLE_MS = 10_000;

type Answer = { ms: number } & ({ found: Match[] } | { reason: string | undefined });

interface Thread {
  /** One at a time. Without a reason: it took too long, and the thread is over. */
  ask(search: PatternSearch, ms: number): Promise<Answer>;
  isOver(): boolean;
  close(): void;
}

const SCRIPT = `
const { parentPort, workerData } = require('node:worker_threads');
const { RE2JS } = require(workerData);
const find = ({ source, isCaseIgnored, texts, byLine, most, width }) => {
  const expression = RE2JS.compile(RE2JS.translateRegExp(source), isCaseIgnored ? RE2JS.CASE_INSENSITIVE : 0);
  const found = [];
  for (let text = 0; text < texts.length; text++) {
    const lines = byLine ? texts[text].split('\\n') : [texts[text]];
    for (let line = 0; line < lines.length; line++) {
      if (!expression.test(lines[line])) continue;
      found.push({ text, line, shown: lines[line].slice(0, width) });
      if (found.length >= most) return found;
    }
  }
  return found;
};
parentPort.on('message', (search) => {
  try {
    parentPort.postMessage({ found: find(search) });
  } catch (error) {
    const what = error.message.replace(/^error parsing regexp: /, '');
    parentPort.postMessage({
      reason:
        'The pattern is not a regular expression that can be searched for: ' + what +
        '. Lookahead, lookbehind, references to groups such as \\\\1, and more than 1000 repeats are not supported.',
    });
  }
});
parentPort.postMessage('ready');
`;

function openThread(): Thread {
  const worker = new Worker(SCRIPT, {
    eval: true,
    workerData: enginePath(),
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 64 },
  });
  let isOver = false;
  let answer: (message: { found: Match[] } | { reason: string | undefined }) => void = () => {};
  const ready = new Promise<void>((resolve) => {
    worker.on('message', (message: 'ready' | { found: Match[] } | { reason: string }) =>
      message === 'ready' ? resolve() : answer(message),
    );
    worker.once('exit', () => resolve());
  });
  worker.on('error', (error) => answer({ reason: `The search broke off: ${error.message}` }));
  worker.once('exit', () => {
    isOver = true;
    answer({ reason: 'The search broke off.' });
  });
  worker.unref();
  return {
    isOver: () => isOver,
    close: () => void worker.terminate(),
    async ask(search, ms) {
      // Until it answers, the process stays.
      worker.ref();
      await ready;
      const begun = performance.now();
      try {
        const answered = await new Promise<{ found: Match[] } | { reason: string | undefined }>((resolve) => {
          answer = resolve;
          if (isOver) return resolve({ reason: 'The search broke off.' });
          const giveUp = (): void => {
            isOver = true;
            resolve({ reason: undefined });
            void worker.terminate();
          };
          const timeout = startTimeout(ms, giveUp, real);
          answer = (message) => {
            timeout.end();
            resolve(message);
          };
          // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
          worker.postMessage(search);
        });
        return { ...answered, ms: performance.now() - begun };
      } finally {
        answer = () => {};
        worker.unref();
      }
    },
  };
}
