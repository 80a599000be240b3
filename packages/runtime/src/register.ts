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

/** The names of this workspace's agents. */
export type AgentName = keyof AgentRegister & string;
/** The keys of this workspace's dynamic configuration. */
export type ConfigKey = keyof ConfigRegister & string;
/** The names of this workspace's workflows. */
export type WorkflowName = keyof WorkflowRegister & string;
