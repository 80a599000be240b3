import type { RetryTurn } from '../agents/turn-retries.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Log } from '../log.ts';
import { defineRoom } from '../operations/room.ts';
import {
  dropQueued,
  findNamed,
  getQueued,
  getWorkflow,
  getWorkflowSchema,
  listQueue,
  listWorkflowChanges,
  listWorkflows,
  startManyWorkflows,
  startWorkflow,
} from './operations.ts';
import { sendEvent } from './event-operations.ts';
import { createNamedEvents } from './events.ts';
import { listKept, signalHook } from './signal-operations.ts';
import { createWorkflows } from './workflows.ts';

export interface Given {
  catalog: Catalog;
  engine: Engine;
  journal: Journal;
  limiter: Limiter;
  retryTurn: RetryTurn;
  guardrails: Guardrails;
  log: Log;
}

/** Events that are sent by name. */
export const namedEventsRoom = defineRoom({
  name: 'namedEvents',
  operations: [sendEvent],
  create: ({ catalog, engine, journal, guardrails }: Pick<Given, 'catalog' | 'engine' | 'journal' | 'guardrails'>) =>
    createNamedEvents({ catalog, engine, journal, isArmed: () => engine.armed, guardrails }),
});

export const workflowsRoom = defineRoom({
  name: 'workflows',
  operations: [
    listWorkflows,
    getWorkflow,
    getWorkflowSchema,
    listWorkflowChanges,
    startWorkflow,
    startManyWorkflows,
    listQueue,
    getQueued,
    dropQueued,
    findNamed,
    signalHook,
    listKept,
  ],
  create: ({ catalog, engine, journal, limiter, retryTurn, guardrails, log }: Given) =>
    createWorkflows({ catalog, engine, journal, isArmed: () => engine.armed, limiter, retryTurn, guardrails, log }),
});
