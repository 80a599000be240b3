/**
 * Filled by the generated `.svc/*.d.ts` of a workspace, so that a wrong name or payload is a compile error.
 */
// oxlint-disable-next-line typescript/no-empty-object-type
export interface AgentRegister {}
// oxlint-disable-next-line typescript/no-empty-object-type
export interface WorkflowRegister {}
// oxlint-disable-next-line typescript/no-empty-object-type
export interface ConfigRegister {}
// oxlint-disable-next-line typescript/no-empty-object-type
export interface ConnectRegister {}
// oxlint-disable-next-line typescript/no-empty-object-type
export interface DatabaseRegister {}
// oxlint-disable-next-line typescript/no-empty-object-type
export interface SecretRegister {}
// oxlint-disable-next-line typescript/no-empty-object-type
export interface PromptRegister {}

/** The names of this workspace's agents. */
export type AgentName = keyof AgentRegister & string;
/** The keys of this workspace's dynamic configuration. */
export type ConfigKey = keyof ConfigRegister & string;
/** The names of this workspace's workflows. */
export type WorkflowName = keyof WorkflowRegister & string;

/** A name of a workflow: once the types of the workspace are generated one of its own, any text before. */
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

/** The ids of the connections that this workspace names. */
export type ConnectionId = keyof ConnectRegister & string;
/** An id of a connection, likewise. */
export type KnownConnection = [ConnectionId] extends [never] ? string : ConnectionId;

/** A key of the dynamic configuration, likewise. */
export type KnownConfigKey = [ConfigKey] extends [never] ? string : ConfigKey;
export type ConfigValueOf<K extends string> = K extends keyof ConfigRegister ? ConfigRegister[K] : unknown;

/** A name of a secret: once `svc.config.ts` lists `secrets` one of them, any text before. */
export type KnownSecret = [keyof SecretRegister & string] extends [never] ? string : keyof SecretRegister & string;

/** A key of a prompt: once `svc.config.ts` lists `prompts` one of them, any text before. */
export type KnownPrompt = [keyof PromptRegister & string] extends [never] ? string : keyof PromptRegister & string;
