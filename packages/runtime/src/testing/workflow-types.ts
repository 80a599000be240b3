import type { WorkflowInput, WorkflowOutput, WorkflowRegister, WorkflowState } from '../register.ts';
import type { InputOf, OutputOf } from '../schema/schema.ts';
import type { WorkflowModule } from './program.ts';

/** The modules of workflows, by name. */
export type WorkflowModules = Readonly<Record<string, WorkflowModule>>;

/** What a start of the workflow takes, by its module: its schema, or the parameters of its function. */
export type InputOfModule<M, N extends string> = M extends { inputSchema: infer S }
  ? InputOf<S>
  : N extends keyof WorkflowRegister
    ? WorkflowInput<N> | Positional
    : InputOfFunction<OnlyFunction<M>>;

/** What its run answers, likewise. */
export type OutputOfModule<M, N extends string> = M extends { outputSchema: infer S }
  ? OutputOf<S>
  : N extends keyof WorkflowRegister
    ? WorkflowOutput<N>
    : ResultOf<OnlyFunction<M>>;

/** What its runs publish, likewise. */
export type StateOfModule<M, N extends string> = M extends { stateSchema: infer S } ? OutputOf<S> : WorkflowState<N>;

// --- internal ---

/** What a workflow without a schema takes as well: its parameters. */
interface Positional {
  args: unknown[];
}

// `any`, not `never`: only then is every function one.
// oxlint-disable-next-line typescript/no-explicit-any
type AnyFunction = (...args: any) => unknown;

/** Of a module with several functions it is not known which of them is the workflow. */
type OnlyFunction<M> = [FunctionKeys<M>] extends [infer K]
  ? IsUnion<K> extends true
    ? unknown
    : K extends keyof M
      ? M[K]
      : unknown
  : unknown;

type FunctionKeys<M> = { [K in keyof M]: M[K] extends AnyFunction ? K : never }[keyof M];
type IsUnion<T, U = T> = [T] extends [never] ? true : T extends U ? ([U] extends [T] ? false : true) : never;

/** One parameter is the input itself; several are `args`. */
type InputOfFunction<F> = F extends (...args: infer A) => unknown
  ? A extends []
    ? undefined
    : [A[0]] extends [never]
      ? unknown
      : A['length'] extends 0 | 1
        ? A[0] | { args: A }
        : { args: A }
  : unknown;

type ResultOf<F> = F extends (...args: never[]) => infer R ? Awaited<R> : unknown;
