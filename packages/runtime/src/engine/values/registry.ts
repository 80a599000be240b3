type AnyFunction = (...args: never[]) => unknown;

/** Makes a step that was written inside of a function. `self`: the step, under its own name. */
export type StepFactory = (closure: never, self: AnyFunction) => AnyFunction;

export interface StepClosure {
  factory: StepFactory;
  /** The step as a function of its own, with what it uses. */
  bind(closure: object | undefined): AnyFunction;
}

/** What the modules of a workspace have made known by name, so that it crosses the journal. */
export interface CodeRegistry {
  steps: Map<string, AnyFunction>;
  closures: Map<string, StepClosure>;
  /** Each with its static methods that record an instance and make it again. */
  classes: Map<string, object>;
  /** What is not in it is looked for in that of the code there is now: modules that load late. */
  isOpen?: true;
}

/** Of an earlier version of the code, whose names are those of the code there is now. */
export function createRegistry(): CodeRegistry {
  return { steps: new Map(), closures: new Map(), classes: new Map() };
}
