/** What authors import. */
export { defineDeepAgent, defineTool } from './agents/definition.ts';
export type { DeepAgentDefinition, Tool, ToolContext, ToolDefinition } from './agents/definition.ts';
export { svc } from './client.ts';
export { requestApproval } from './engine/approval.ts';
export type { ApprovalAnswer, ApprovalRequest } from './engine/approval.ts';
export type { StartedWorkflow } from './engine/handle.ts';
export { setAttributes } from './engine/attributes.ts';
export { FatalError, RetryableError } from './engine/errors.ts';
export type { RetryableOptions } from './engine/errors.ts';
export { createHook, createWebhook } from './engine/hook.ts';
export type { Hook, HookOptions, WebhookCall, WebhookOptions } from './engine/hook.ts';
export { getStepMetadata, getWorkflowMetadata } from './engine/metadata.ts';
export type { StepMetadata, WorkflowMetadata } from './engine/metadata.ts';
export { sleep } from './engine/sleep.ts';
export type { StepOptions } from './engine/step.ts';
export { getWritable } from './engine/writable.ts';
export type { WritableOptions } from './engine/writable.ts';
export type {
  AgentName,
  AgentRegister,
  ConfigRegister,
  ConnectRegister,
  WorkflowName,
  WorkflowRegister,
} from './register.ts';
export { defineConfig } from './workspace-config.ts';
export type { WorkspaceConfig } from './workspace-config.ts';
