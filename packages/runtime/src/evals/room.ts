import { defineRoom } from '../operations/room.ts';
import { createCase, deleteCase, getCase, listCases, updateCase } from './case-operations.ts';
import { createEvals } from './evals.ts';
import type { EvalsOptions } from './evals.ts';
import { cancelEvalRun, compareEvalRuns, deleteEvalRun, getEvalRun, listEvalRuns } from './run-operations.ts';
import { createSuite, deleteSuite, getSuite, listSuites, runSuite, updateSuite } from './suite-operations.ts';

export interface Given extends Omit<EvalsOptions, 'defaultModel' | 'mask'> {
  settings: Pick<EvalsOptions, 'defaultModel'>;
  foundation: Pick<EvalsOptions, 'mask'>;
}

export const evalsRoom = defineRoom({
  name: 'evals',
  operations: [
    listCases,
    getCase,
    createCase,
    updateCase,
    deleteCase,
    listSuites,
    getSuite,
    createSuite,
    updateSuite,
    deleteSuite,
    runSuite,
    listEvalRuns,
    getEvalRun,
    compareEvalRuns,
    cancelEvalRun,
    deleteEvalRun,
  ],
  create: ({
    db,
    engine,
    journal,
    catalog,
    agents,
    workflows,
    prompts,
    sessionStore,
    scorers,
    log,
    isBlank,
    settings: { defaultModel },
    foundation: { mask },
  }: Given) =>
    createEvals({
      db,
      engine,
      journal,
      catalog,
      agents,
      workflows,
      prompts,
      sessionStore,
      scorers,
      log,
      isBlank,
      defaultModel,
      mask,
    }),
  close: (evals) => evals.close(),
});
