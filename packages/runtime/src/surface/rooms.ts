import { activityRoom } from '../activity/room.ts';
import { approvalsRoom } from '../approvals/room.ts';
import { browserRoom } from '../browser/room.ts';
import { catalogRoom, entriesRoom } from '../catalog/room.ts';
import { configRoom } from '../config-values/room.ts';
import { databaseRoom } from '../database/room.ts';
import { evalsRoom } from '../evals/room.ts';
import { connectionsRoom } from '../connections/room.ts';
import { eventsRoom } from '../events/room.ts';
import { guardrailsRoom } from '../guardrails/room.ts';
import { gateRoom } from '../gate/room.ts';
import { healthRoom } from '../health/room.ts';
import { hooksRoom, signalsRoom } from '../hooks/room.ts';
import { jobsRoom } from '../jobs/room.ts';
import { keysRoom } from '../keys/room.ts';
import { logsRoom } from '../logs/room.ts';
import { memoryRoom } from '../memory/room.ts';
import { deliveriesRoom } from '../notify/room.ts';
import { promptsRoom } from '../prompts/room.ts';
import { modelsRoom, providerRoom } from '../provider/room.ts';
import { ragRoom } from '../rag/room.ts';
import { exportsRoom, runsRoom, whyRoom } from '../runs/room.ts';
import { secretsRoom } from '../secrets/room.ts';
import { sessionsRoom } from '../sessions/room.ts';
import { settingsRoom, setupRoom } from '../settings/room.ts';
import { storageRoom } from '../storage/room.ts';
import { triggersRoom } from '../triggers/room.ts';
import { upgradeRoom } from '../upgrade/room.ts';
import { usageRoom } from '../usage/room.ts';
import { namedEventsRoom, workflowsRoom } from '../workflows/room.ts';
import { operationsRoom, securityRoom } from './room.ts';

/** Every room of the box, in the order in which callers read of its operations. A new one is a line here. */
export const ROOMS = [
  runsRoom,
  whyRoom,
  exportsRoom,
  upgradeRoom,
  logsRoom,
  sessionsRoom,
  memoryRoom,
  approvalsRoom,
  hooksRoom,
  signalsRoom,
  eventsRoom,
  namedEventsRoom,
  activityRoom,
  entriesRoom,
  catalogRoom,
  operationsRoom,
  workflowsRoom,
  jobsRoom,
  deliveriesRoom,
  promptsRoom,
  guardrailsRoom,
  evalsRoom,
  storageRoom,
  configRoom,
  keysRoom,
  usageRoom,
  providerRoom,
  modelsRoom,
  secretsRoom,
  connectionsRoom,
  browserRoom,
  triggersRoom,
  databaseRoom,
  ragRoom,
  settingsRoom,
  setupRoom,
  healthRoom,
  gateRoom,
  securityRoom,
] as const;

/** What every handler is given: each room by its name. */
export type Rooms = {
  [Each in (typeof ROOMS)[number] as Each['name']]: ReturnType<Each['create']>;
};
