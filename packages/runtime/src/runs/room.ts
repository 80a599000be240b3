import type { Catalog } from '../catalog/catalog.ts';
import { splitName } from '../definitions/subagents.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import { defineRoom } from '../operations/room.ts';
import type { Versions } from '../versions/versions.ts';
import { cancelRuns, deleteRuns, retryRuns } from './bulk-operations.ts';
import {
  cancelRun,
  deleteRun,
  getRunStep,
  getRunTimeline,
  listRunSteps,
  pauseRun,
  resumeRun,
  retryRun,
} from './control-operations.ts';
import { forkRun, previewFork, rewindRun } from './fork-operations.ts';
import { createRunExports } from './export.ts';
import type { RunExportsOptions } from './export.ts';
import { explainRun, exportRun, getRunState, streamRunState } from './history-operations.ts';
import { getRun, getRunStats, getWorkflowRun, listRuns, listStarts } from './operations.ts';
import { createRuns } from './runs.ts';
import type { RunsOptions } from './runs.ts';
import { listRunStreams, listRunWebhooks, readRunStream } from './stream-operations.ts';
import { createRunWhy } from './why.ts';
import type { WhySources } from './why-facts.ts';

export interface Given {
  journal: Journal;
  engine: Engine;
}

export const runsRoom = defineRoom({
  name: 'runs',
  operations: [
    listRuns,
    getRunStats,
    listStarts,
    getRun,
    getWorkflowRun,
    listRunSteps,
    getRunStep,
    getRunTimeline,
    getRunState,
    streamRunState,
    listRunStreams,
    readRunStream,
    listRunWebhooks,
    retryRun,
    previewFork,
    forkRun,
    rewindRun,
    pauseRun,
    resumeRun,
    cancelRun,
    deleteRun,
    cancelRuns,
    retryRuns,
    deleteRuns,
  ],
  create: ({
    journal,
    engine,
    catalog,
    deleteRun: remove,
    webhookUrl,
    versions,
  }: Given & { versions: Pick<Versions, 'holds'> } & Pick<RunsOptions, 'deleteRun' | 'webhookUrl'> &
    Pick<GivenToWhy, 'catalog'>) =>
    createRuns({
      journal,
      engine,
      deleteRun: remove,
      webhookUrl,
      findCodeHash: createFindCodeHash(catalog),
      holdsCode: versions.holds,
    }),
});

/** The state of a run and why. */
export const whyRoom = defineRoom({
  name: 'why',
  operations: [explainRun],
  create: ({ journal, engine, approvals, gate, catalog, version }: GivenToWhy) =>
    createRunWhy({
      journal,
      engine,
      approvals,
      gate: gate.state,
      findCodeHash: createFindCodeHash(catalog),
      version,
    }),
});

export interface GivenToWhy extends Given {
  approvals: WhySources['approvals'];
  gate: { state: WhySources['gate'] };
  catalog: Pick<Catalog, 'findAgent' | 'findWorkflow'>;
  version: string;
}

/** A run as one document, to be replayed elsewhere. */
export const exportsRoom = defineRoom({
  name: 'exports',
  operations: [exportRun],
  create: ({ journal, engine, listSecretTexts, url }: Given & GivenToExports) =>
    createRunExports({ journal, engine, secrets: listSecretTexts, url, now: () => engine.clock.now() }),
});

export interface GivenToExports {
  /** All that must not leave the box in a document. */
  listSecretTexts: RunExportsOptions['secrets'];
  url: RunExportsOptions['url'];
}

// --- internal ---

/** Of a sub-agent: that of the agent that declares it. */
function createFindCodeHash({ findAgent, findWorkflow }: GivenToWhy['catalog']): WhySources['findCodeHash'] {
  return ({ kind, name }) =>
    (kind === 'agent' ? findAgent(splitName(name).agent) : findWorkflow(name))?.definition?.codeHash;
}
