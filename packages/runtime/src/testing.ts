/** What tests of a workspace import: a box in their own process. */
export { createTestBox } from './testing/box.ts';
export type { Deploy, TestBox, TestBoxOptions, TestWorkflow } from './testing/box.ts';
export type { TestConfig, TestDatabase, TestSecrets } from './testing/handles.ts';
export type { TestApproval, TestApprovals } from './testing/approvals.ts';
export type { TestClock } from './testing/clock.ts';
export { model } from './testing/model.ts';
export type {
  Asked,
  AskedVectors,
  ModelScript,
  Script,
  ScriptedReply,
  TestModel,
  VectorScript,
} from './testing/model.ts';
export type { CrashPoint } from './testing/process.ts';
export type { WorkflowModule } from './testing/program.ts';
export type { SettleOptions, TestRun } from './testing/runs.ts';
export type { InputOfModule, OutputOfModule, WorkflowModules } from './testing/workflow-types.ts';
export type { SendOptions, TestAgent, TestToolCall, TestTurn } from './testing/turns.ts';
export { replayRun } from './testing/replay.ts';
export type { Difference, Replayed, ReplayedCall } from './replay/replay.ts';
