import type { CodeKey } from '../engine/journal/code.ts';
import type { Log } from '../log.ts';
import type { Loader } from './loader.ts';

/** Kept code that is not executed: it is not what was kept, or the key of this process does not open it. */
export interface Refusals {
  note(code: CodeKey, why: string): void;
  /** Was a moment ago: each of its runs would have all files read. */
  has(code: CodeKey): boolean;
  whyOf(code: CodeKey): string | undefined;
  /**
   * Looks again at some of them, and answers the hashes of those that are executed by now: another process has kept or sealed
   * them again. Throws what the journal does.
   */
  reopened(loader: Pick<Loader, 'find'>): AsyncGenerator<string>;
}

export function createRefusals(log: Log): Refusals {
  const refused = new Map<string, { code: CodeKey; why: string; until: number }>();
  const idOf = ({ codeHash, name }: CodeKey): string => `${codeHash} ${name}`;
  const find = (code: CodeKey) => refused.get(idOf(code));
  return {
    note(code, why) {
      const isKnown = find(code) !== undefined;
      const { codeHash, name } = code;
      if (refused.size > MOST_REFUSED) refused.clear();
      refused.set(idOf(code), { code: { codeHash, name }, why, until: performance.now() + REFUSED_MS });
      if (!isKnown) log.error(`Kept code is not executed: ${why}. Its runs wait.`, { codeHash, name });
    },
    has: (code) => (find(code)?.until ?? 0) > performance.now(),
    whyOf: (code) => find(code)?.why,
    async *reopened(loader) {
      for (const [id, { code, why, until }] of [...refused].slice(0, REOPENED)) {
        // Behind the others: those are looked at the next time.
        refused.delete(id);
        refused.set(id, { code, why, until });
        if (!(await loader.find(code))) continue;
        refused.delete(id);
        yield code.codeHash;
      }
    },
  };
}

// --- internal ---

const MOST_REFUSED = 1_000;
const REFUSED_MS = 60_000;

/** How many are looked at again at a time: of each all files are read. */
const REOPENED = 20;
