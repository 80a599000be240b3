import { discover } from '../catalog/operations.ts';
import { getContract, getIdentity, getServices } from '../health/operations.ts';
import { getProvider, setProvider } from '../provider/operations.ts';
import { getRun, listRuns } from '../runs/operations.ts';
import { getWorkflow, getWorkflowSchema, listWorkflows, startWorkflow } from '../workflows/operations.ts';
import type { Operation } from './define.ts';

/** Every action of the box. Each surface walks this list. */
export const OPERATIONS: readonly Operation[] = [
  listRuns,
  getRun,
  discover,
  listWorkflows,
  getWorkflow,
  getWorkflowSchema,
  startWorkflow,
  getProvider,
  setProvider,
  getIdentity,
  getContract,
  getServices,
];
