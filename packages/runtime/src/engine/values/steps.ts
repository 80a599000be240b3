/** A step function as the journal has it: its id, and what it uses of the function it was made in. */
export interface StepRef {
  id: string;
  closure?: object;
}

type AnyFunction = (...args: never[]) => unknown;

/** Makes a step that was written inside of a function. `self`: the step, under its own name. */
export type StepFactory = (closure: never, self: AnyFunction) => AnyFunction;

export interface StepClosure {
  factory: StepFactory;
  /** The step as a function of its own, with what it uses. */
  bind(closure: object | undefined): AnyFunction;
}

/** Makes a step function known by its id, so that it crosses the journal. `capture`: what it uses where it was made. */
export function registerStep(fn: AnyFunction, id: string, capture?: () => object): void {
  (fn as unknown as Record<symbol, Known>)[STEP] = { id, capture };
  if (!closures().has(id)) steps().set(id, fn);
}

/** The same of a step that was written inside of a function: it is there before that function runs. */
export function keepClosure(id: string, closure: StepClosure): void {
  closures().set(id, closure);
}

export function findClosure(id: string): StepClosure | undefined {
  return closures().get(id);
}

/** Undefined: it is no step function. */
export function toStepRef(value: unknown): StepRef | undefined {
  const known = typeof value === 'function' ? (value as unknown as Record<symbol, Known | undefined>)[STEP] : undefined;
  if (!known) return undefined;
  const { id, capture } = known;
  return capture ? { id, closure: capture() } : { id };
}

/** The inverse. Throws when the step is not in the workspace (any more). */
export function fromStepRef({ id, closure }: StepRef): AnyFunction {
  const step = closures().get(id)?.bind(closure) ?? steps().get(id);
  if (step) return step;
  throw new Error(`The journal holds the step function "${id}", which is not loaded. Bring the step back.`);
}

// --- internal ---

interface Known {
  id: string;
  capture: (() => object) | undefined;
}

const STEP = Symbol.for('svc.engine.step');
const STEPS = Symbol.for('svc.engine.steps');
const CLOSURES = Symbol.for('svc.engine.closures');

// One registry per process, also when two copies of this module are loaded.
function steps(): Map<string, AnyFunction> {
  return ((globalThis as Record<symbol, unknown>)[STEPS] ??= new Map()) as Map<string, AnyFunction>;
}

function closures(): Map<string, StepClosure> {
  return ((globalThis as Record<symbol, unknown>)[CLOSURES] ??= new Map()) as Map<string, StepClosure>;
}
