import type { InputOf } from './schema.ts';

/**
 * Filled by the generated `.svc/*.d.ts` of a workspace, or by a declaration of one's own, so that a wrong name or payload is a
 * compile error.
 */
// oxlint-disable-next-line typescript/no-empty-object-type
export interface AgentRegister {}
// oxlint-disable-next-line typescript/no-empty-object-type
export interface WorkflowRegister {}

/** The names of the agents. */
export type AgentName = keyof AgentRegister & string;
/** The names of the workflows. */
export type WorkflowName = keyof WorkflowRegister & string;

/** A name of an agent: once the types of the workspace are generated one of its own, any text before. */
export type KnownAgent = [AgentName] extends [never] ? string : AgentName;
/** A name of a workflow, likewise. */
export type KnownWorkflow = [WorkflowName] extends [never] ? string : WorkflowName;

/** What the workflow takes. */
export type WorkflowInput<N extends string> = N extends keyof WorkflowRegister
  ? WorkflowRegister[N] extends { input: infer I }
    ? I
    : unknown
  : unknown;
/** What the workflow answers. */
export type WorkflowOutput<N extends string> = N extends keyof WorkflowRegister
  ? WorkflowRegister[N] extends { output: infer O }
    ? O
    : unknown
  : unknown;
/** What its runs publish, as its `stateSchema` says; unknown: it has none. */
export type WorkflowState<N extends string> = N extends keyof WorkflowRegister
  ? WorkflowRegister[N] extends { state: infer S }
    ? S
    : unknown
  : unknown;

/** The JSON an agent writes, by its own declaration. */
export type AgentJson<N extends string> = N extends keyof AgentRegister
  ? AgentRegister[N] extends { output?: infer S }
    ? InputOf<NonNullable<S>>
    : unknown
  : unknown;
