/** What authors import. */
export { defineDeepAgent, defineTool } from './definitions/definition.ts';
export type { DeepAgentDefinition, Tool, ToolContext, ToolDefinition } from './definitions/agent.ts';
export type { McpServer, Skill, SubagentDefinition } from './definitions/agent.ts';
export type { AgentAnswer, AgentSession, SendOptions } from './agent-client.ts';
export type {
  RagAdded,
  RagAddedFile,
  RagDocument,
  RagFile,
  RagFilter,
  RagHit,
  RagPlace,
  RagSearchOptions,
} from './engine/rag-calls.ts';
export type { AiMessage, ChatAnswer, ChatOptions, EmbedAnswer, EmbedOptions } from './ai-client.ts';
export type { ModelUsage } from './engine/model-calls.ts';
export { svc } from './svc.ts';
export type {
  ByteRange,
  ListedObjects,
  ObjectBody,
  ObjectStat,
  Storage,
  StoredObject,
  StreamedObject,
} from './storage/storage.ts';
export type { BrowserCalls } from './browser/code.ts';
export { defineDynamicConfig } from './config-values/define.ts';
export type { DynamicConfig } from './config-values/define.ts';
export { defineConnection } from './connections/define.ts';
export type { ConnectionDefinition } from './connections/define.ts';
export { defineScorer } from './evals/define-scorer.ts';
export type { ScorerAnswer, ScorerDefinition, ScorerSubject } from './evals/define-scorer.ts';
export { defineGuardrail } from './guardrails/define.ts';
export type { GuardrailDefinition } from './guardrails/define.ts';
export type { CheckAnswer, CheckPlace, CheckSubject, OwnCheck } from './guardrails/author-check.ts';
export { requestApproval } from './engine/primitives/approval.ts';
export type { ApprovalAnswer, ApprovalRequest } from './engine/primitives/approval.ts';
export type {
  ConnectionCalls,
  PromptAnswer,
  PromptOwner,
  ScheduledWorkflow,
  StartedWorkflow,
  StartHow,
} from './engine/handle.ts';
export type { Concurrency, Debounce, StartRate } from './definitions/flow-settings.ts';
export type { StartsOn } from './definitions/event-settings.ts';
export type { EventReceipt, SentEvent } from './engine/events.ts';
export type { EventSendOptions, EventWaitOptions } from './engine/primitives/event.ts';
export type { ScheduleOptions } from './engine/primitives/schedule.ts';
export { setAttributes } from './engine/attributes.ts';
export { FatalError, RetryableError, RunCancelledError } from './engine/errors.ts';
export type { RetryableOptions, RetryableOptions as RetryableErrorOptions } from './engine/errors.ts';
export { WORKFLOW_DESERIALIZE, WORKFLOW_SERIALIZE } from './engine/values/classes.ts';
export { continueAsNew } from './engine/primitives/continue-as-new.ts';
export { createHook, createWebhook } from './engine/primitives/hook.ts';
export type { Hook, HookOptions, RequestWithResponse, Webhook, WebhookOptions } from './engine/primitives/hook.ts';
export type { EndUser, RunContext, StartedBy } from './engine/started-by.ts';
export { getStepMetadata, getWorkflowMetadata, heartbeat } from './engine/primitives/metadata.ts';
export type { StepMetadata, WorkflowMetadata } from './engine/primitives/metadata.ts';
export { publish } from './engine/primitives/publish.ts';
export { sleep } from './engine/primitives/sleep.ts';
export type { StepOptions } from './engine/primitives/step.ts';
export { getWritable } from './engine/primitives/writable.ts';
export type {
  WritableOptions,
  WritableOptions as WorkflowWritableStreamOptions,
} from './engine/primitives/writable.ts';
export type {
  AgentName,
  AgentRegister,
  ConfigRegister,
  ConnectRegister,
  DatabaseRegister,
  PromptRegister,
  SecretRegister,
  WorkflowInput,
  WorkflowName,
  WorkflowOutput,
  WorkflowRegister,
  WorkflowState,
} from './register.ts';
export {
  HookConflictError,
  HookNotFoundError,
  WorkflowError,
  WorkflowRunCancelledError,
  WorkflowRunFailedError,
  WorkflowRunNotFoundError,
} from './sdk/errors.ts';
export { fetch } from './sdk/fetch.ts';
export { defineHook, getHookByToken, resumeHook, resumeWebhook } from './sdk/hooks.ts';
export type { HookInfo, ResumeHookOptions, StandardSchema, TypedHook } from './sdk/hooks.ts';
export { findRun, getRun, Run } from './sdk/run.ts';
export type { RunOf } from './sdk/run.ts';
export type { WorkflowReadableStream, WorkflowReadableStreamOptions, WorkflowRunStatus } from './sdk/run.ts';
export { start } from './sdk/start.ts';
export type { StartOptions } from './sdk/start.ts';
export { defineConfig } from './workspace-config.ts';
export type { NotifyEvent, NotifyReceiver } from './notify/config.ts';
export type { ModelPrice, ModelPrices } from './limits/prices.ts';
export type { WorkspaceConfig } from './workspace-config.ts';
