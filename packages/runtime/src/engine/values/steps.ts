import { currentRegistry, findKnown } from './current-registry.ts';
import type { StepClosure } from './registry.ts';

/** A step function as the journal holds it: its id, and what it uses of the function it was made in. */
export interface StepRef {
  id: string;
  closure?: object;
}

type AnyFunction = (...args: never[]) => unknown;

/** Makes a step function known by its id, so that it crosses the journal. `capture`: what it uses where it was made. */
export function registerStep(fn: AnyFunction, id: string, capture?: () => object): void {
  (fn as unknown as Record<symbol, Known>)[STEP] = { id, capture };
  if (!findKnown('closures', id)) currentRegistry().steps.set(id, fn);
}

/** The same of a step that was written inside of a function: it is there before that function runs. */
export function keepClosure(id: string, closure: StepClosure): void {
  currentRegistry().closures.set(id, closure);
}

export function findClosure(id: string): StepClosure | undefined {
  return findKnown('closures', id);
}

/** Undefined: it is no step function. */
export function toStepRef(value: unknown): StepRef | undefined {
  const known = typeof value === 'function' ? (value as unknown as Record<symbol, Known | undefined>)[STEP] : undefined;
  if (!known) return undefined;
  const { id, capture } = known;
  return capture ? { id, closure: capture() } : { id };
}

export function isStepFunction(value: unknown): boolean {
  return typeof value === 'function' && STEP in value;
}

/** Where `step` is a step function, `fn` is recorded as that one. `onRecorded`: each time. */
export function takeStep(fn: AnyFunction, step: AnyFunction, onRecorded: () => void): void {
  const known = (step as unknown as Record<symbol, Known | undefined>)[STEP];
  if (!known) return;
  const get = (): Known => {
    onRecorded();
    return known;
  };
  Object.defineProperty(fn, STEP, { get });
}

/** The inverse. Throws when the step is not in the workspace (any more). */
export function fromStepRef({ id, closure }: StepRef): AnyFunction {
  const step = findKnown('closures', id)?.bind(closure) ?? findKnown('steps', id);
  if (step) return step;
  throw new Error(`The journal holds the step function "${id}", which is not loaded. Bring the step back.`);
}

// --- internal ---

interface Known {
  id: string;
  capture: (() => object) | undefined;
}

const STEP = Symbol.for('svc.engine.step');
