import { problemOf } from '../manifest.ts';
import type { DeclaredEntry, Problem, Program } from '../manifest.ts';
import { isScorer, parseScorer } from './define-scorer.ts';
import type { DefinedScorer } from './define-scorer.ts';

/** The scorers that files of the workspace declare. */
export interface CodeScorers {
  /** Swaps in those of a program. One that does not load stays as it was when it last did. */
  load(program: Program): Promise<void>;
  problems(): Problem[];
  has(name: string): boolean;
  names(): string[];
  /** Throws a sentence where there is none of that name, or where it has never loaded. */
  require(name: string): DefinedScorer;
}

export function createCodeScorers(): CodeScorers {
  let all = new Map<string, Loaded>();
  return {
    async load(program) {
      const last = all;
      const entries = program.manifest.scorers ?? [];
      const loaded = await Promise.all(
        entries.map(async (entry) => [entry.name, await loadOne(entry, program, last.get(entry.name))] as const),
      );
      all = new Map(loaded);
    },
    problems: () => [...all.values()].flatMap(({ problem }) => problem ?? []),
    has: (name) => all.has(name),
    names: () => [...all.keys()],
    require(name) {
      const found = all.get(name);
      if (!found) throw new Error(`There is no evals/${name}.scorer.ts in this workspace.`);
      if (!found.scorer) throw new Error(`"${found.file}" does not load: ${found.problem?.message ?? ''}`);
      return found.scorer;
    },
  };
}

// --- internal ---

interface Loaded {
  file: string;
  scorer: DefinedScorer | undefined;
  problem?: Problem;
}

async function loadOne(entry: DeclaredEntry, program: Program, last: Loaded | undefined): Promise<Loaded> {
  const { file } = entry;
  try {
    if (entry.problem) throw Object.assign(new Error(entry.problem.message), { problem: entry.problem });
    const definition = (await program.load(file)).exports['default'];
    if (!isScorer(definition))
      throw new TypeError(
        `The default export of "${file}" is not a scorer. Write: export default defineScorer({ ... }).`,
      );
    return { file, scorer: parseScorer(definition) };
  } catch (error) {
    return { file, scorer: last?.scorer, problem: problemOf(error, file) };
  }
}
