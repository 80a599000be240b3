/** Those of agents and workflows are of the client: it is typed by them, too. */
export type {
  AgentName,
  AgentRegister,
  KnownAgent,
  KnownWorkflow,
  WorkflowInput,
  WorkflowName,
  WorkflowOutput,
  WorkflowRegister,
  WorkflowState,
} from '@svc/client';

/**
 * Filled by the generated `.svc/*.d.ts` of a workspace, so that a wrong name or payload is a compile error.
 */
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

/** The keys of this workspace's dynamic configuration. */
export type ConfigKey = keyof ConfigRegister & string;
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
