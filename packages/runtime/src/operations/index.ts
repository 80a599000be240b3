import { decideApproval, getApproval, listApprovals } from '../approvals/operations.ts';
import { createKey, listKeys, revokeKey, updateKey } from '../auth/operations.ts';
import { discover } from '../catalog/operations.ts';
import { streamEvents } from '../events/operations.ts';
import { getContract, getIdentity, getServices } from '../health/operations.ts';
import { resumeHook } from '../hooks/operations.ts';
import { deleteJob, getJob, listJobs, runJob, updateJob } from '../jobs/operations.ts';
import { getProvider, setProvider } from '../provider/operations.ts';
import {
  cancelRun,
  deleteRun,
  getRunStep,
  getRunTimeline,
  listRunSteps,
  resumeRun,
  retryRun,
} from '../runs/control-operations.ts';
import { getRun, getRunStats, getWorkflowRun, listRuns } from '../runs/operations.ts';
import { deleteSession, getSession, listSessionRuns, listSessions, listSessionTurns } from '../sessions/operations.ts';
import {
  dropQueued,
  getWorkflow,
  getWorkflowSchema,
  listQueue,
  listWorkflows,
  startWorkflow,
} from '../workflows/operations.ts';
import type { Operation } from './define.ts';

/** Every action of the box. Each surface walks this list. */
export const OPERATIONS: readonly Operation[] = [
  listRuns,
  getRunStats,
  getRun,
  listRunSteps,
  getRunStep,
  getRunTimeline,
  retryRun,
  resumeRun,
  cancelRun,
  deleteRun,
  listSessions,
  getSession,
  listSessionTurns,
  listSessionRuns,
  deleteSession,
  listApprovals,
  getApproval,
  decideApproval,
  resumeHook,
  streamEvents,
  discover,
  listWorkflows,
  getWorkflow,
  getWorkflowSchema,
  getWorkflowRun,
  startWorkflow,
  listQueue,
  dropQueued,
  listJobs,
  getJob,
  updateJob,
  runJob,
  deleteJob,
  listKeys,
  createKey,
  updateKey,
  revokeKey,
  getProvider,
  setProvider,
  getIdentity,
  getContract,
  getServices,
];
