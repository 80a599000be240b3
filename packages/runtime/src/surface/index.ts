import { getActivity, listActivity } from '../activity/operations.ts';
import { decideApproval, getApproval, listApprovals } from '../approvals/operations.ts';
import { createKey, listKeys, revokeKey, rotateKey, updateKey } from '../keys/operations.ts';
import { discover, getCatalogEntry, listCatalog, updateCatalogEntry } from '../catalog/operations.ts';
import { deleteConfig, getConfig, listConfig, listConfigHistory, setConfig } from '../config-values/operations.ts';
import { streamEvents } from '../events/operations.ts';
import { getContract, getIdentity, getServices } from '../health/operations.ts';
import { resumeHook } from '../hooks/operations.ts';
import { deleteJob, getJob, listJobs, runJob, updateJob } from '../jobs/operations.ts';
import { listRunLogs, searchLogs, streamRunLogs, tailLogs } from '../logs/operations.ts';
import { listDeliveries, listReceivers, redeliver } from '../notify/operations.ts';
import { createPrompt, deletePrompt, getPrompt, listPrompts, updatePrompt } from '../prompts/operations.ts';
import {
  addPromptVersion,
  diffPromptVersions,
  getPromptVersion,
  listPromptVersions,
  publishPrompt,
  rollbackPrompt,
} from '../prompts/version-operations.ts';
import { deleteProvider, getProvider, listModels, setProvider, testProvider } from '../provider/operations.ts';
import {
  cancelRun,
  deleteRun,
  getRunStep,
  getRunTimeline,
  listRunSteps,
  pauseRun,
  resumeRun,
  retryRun,
} from '../runs/control-operations.ts';
import { cancelRuns, deleteRuns, retryRuns } from '../runs/bulk-operations.ts';
import { explainRun, exportRun, getRunState, streamRunState } from '../runs/history-operations.ts';
import { listRunStreams, listRunWebhooks, readRunStream } from '../runs/stream-operations.ts';
import { getRun, getRunStats, getWorkflowRun, listRuns } from '../runs/operations.ts';
import { deleteSecret, getSecret, listSecrets, rotateSecret, setSecret } from '../secrets/operations.ts';
import { deleteSession, getSession, listSessionRuns, listSessions, listSessionTurns } from '../sessions/operations.ts';
import { getSettings, getSetup, setLogRetention, setMcp, updateSettings } from '../settings/operations.ts';
import { getUsage, listUsage } from '../usage/operations.ts';
import {
  dropQueued,
  findNamed,
  getWorkflow,
  getWorkflowSchema,
  listQueue,
  getQueued,
  listWorkflows,
  startWorkflow,
} from '../workflows/operations.ts';
import { listKept, signalHook } from '../workflows/signal-operations.ts';
import type { Operation } from '../operations/define.ts';
import { getOperation, listOperations } from './operations.ts';

const ALL = [
  listRuns,
  getRunStats,
  getRun,
  listRunSteps,
  getRunStep,
  getRunTimeline,
  getRunState,
  streamRunState,
  listRunStreams,
  readRunStream,
  listRunWebhooks,
  explainRun,
  exportRun,
  retryRun,
  pauseRun,
  resumeRun,
  cancelRun,
  deleteRun,
  cancelRuns,
  retryRuns,
  deleteRuns,
  listRunLogs,
  streamRunLogs,
  listSessions,
  getSession,
  listSessionTurns,
  listSessionRuns,
  deleteSession,
  listApprovals,
  getApproval,
  decideApproval,
  resumeHook,
  signalHook,
  listKept,
  streamEvents,
  searchLogs,
  tailLogs,
  listActivity,
  getActivity,
  discover,
  listCatalog,
  getCatalogEntry,
  updateCatalogEntry,
  listOperations,
  getOperation,
  listWorkflows,
  getWorkflow,
  getWorkflowSchema,
  getWorkflowRun,
  startWorkflow,
  listQueue,
  getQueued,
  dropQueued,
  findNamed,
  listJobs,
  getJob,
  updateJob,
  runJob,
  deleteJob,
  listReceivers,
  listDeliveries,
  redeliver,
  listPrompts,
  createPrompt,
  getPrompt,
  updatePrompt,
  deletePrompt,
  listPromptVersions,
  getPromptVersion,
  addPromptVersion,
  diffPromptVersions,
  publishPrompt,
  rollbackPrompt,
  listConfig,
  getConfig,
  setConfig,
  deleteConfig,
  listConfigHistory,
  listKeys,
  createKey,
  updateKey,
  rotateKey,
  revokeKey,
  listUsage,
  getUsage,
  getProvider,
  setProvider,
  testProvider,
  deleteProvider,
  listModels,
  listSecrets,
  getSecret,
  setSecret,
  rotateSecret,
  deleteSecret,
  getSettings,
  updateSettings,
  setLogRetention,
  setMcp,
  getSetup,
  getIdentity,
  getContract,
  getServices,
] as const;

/** Every action of the box. Each surface walks this list. */
export const OPERATIONS: readonly Operation[] = ALL;

/** What each takes and answers, by id. */
export type OperationTypes = {
  [Op in (typeof ALL)[number] as Op['id']]: NonNullable<Op['~types']>;
};
