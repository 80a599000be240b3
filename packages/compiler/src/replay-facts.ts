import type { Node, Position } from './ast.ts';
import type { Target } from './replay-table.ts';
import type { StateKind } from './states.ts';

export interface Exported {
  name: string;
  /** The name inside the file. Null: it is exported in place without one, or comes from another file. */
  local: string | null;
  node: Node;
}

/** What the functions of one file do that a replay minds, as plain data. */
export interface ReplayFacts {
  units: UnitFacts[];
  /** Exports that stand for something else than the module's own function of that name. */
  exported: Record<string, Target>;
  /** Module-level variables whose value is written out here, by path: `state`, `state.list`. */
  states: Record<string, StateKind>;
  /** Module-level constants that a call has made, such as a limiter: all runs share them. Left out: none. */
  shared?: string[];
}

/** The code that runs when one function of the module is called. */
export interface UnitFacts {
  /** `load`, `api.load`, `Client` (its constructor), `Client.load`. */
  name: string;
  isWorkflow?: true;
  calls: CallFacts[];
  writes: WriteFacts[];
  /** Calls that are a statement of their own, and not awaited. Left out: none. */
  dropped?: CallFacts[];
  /** Functions that it hands to a variable of a module. Left out: none. */
  handed?: HandedFacts[];
  /** Where it calls `import()`. Left out: nowhere. */
  loads?: Position[];
}

/** A call of a variable, or of a method of one: `target` is the variable. */
export interface HandedFacts extends CallFacts {
  /** What the functions among its arguments are or call, as far as that may be of the workspace or a wait. */
  given: Target[];
}

export interface CallFacts extends Position {
  target: Target;
  /** As written: `fs.readFileSync`. */
  label: string;
}

export interface WriteFacts extends Position {
  /** The variable that is assigned, or the object that is changed. */
  target: Target;
  label: string;
  /** `push`, `set`: the method that changes it. Left out: an assignment. */
  method?: string;
  /** The variable itself is assigned. */
  isAssigned?: true;
}
