import type { Agents } from '../agents/agents.ts';
import type { Connections } from '../connections/connections.ts';
import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import { defineRoom } from '../operations/room.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import type { Workflows } from '../workflows/workflows.ts';
import type { TriggerLimits } from './limits.ts';
import {
  createTrigger,
  deleteTrigger,
  getTrigger,
  listTriggers,
  pollTrigger,
  redeliverTrigger,
  updateTrigger,
} from './operations.ts';
import { createTriggers } from './triggers.ts';
import type { TriggersOptions } from './triggers.ts';

export interface Given extends Pick<TriggersOptions, 'db' | 'installation' | 'url' | 'kv'> {
  masterKey: TriggersOptions['key'];
  workflows: Workflows;
  agents: Agents;
  connections: Connections;
  log: Log;
  isBlank(): boolean;
  isOpen(): boolean;
  options: { provider: { egress: EgressPolicy }; triggerLimits?: Partial<TriggerLimits> };
  foundation: { mask: Mask };
}

export const triggersRoom = defineRoom({
  name: 'triggers',
  operations: [listTriggers, getTrigger, createTrigger, updateTrigger, pollTrigger, redeliverTrigger, deleteTrigger],
  create(given: Given) {
    const { db, masterKey: key, installation, kv, workflows, agents, connections, url, log } = given;
    return createTriggers({
      db,
      key,
      installation,
      kv,
      workflows,
      agents,
      connections,
      egress: given.options.provider.egress,
      url,
      log,
      mask: given.foundation.mask,
      isUsed: () => given.isOpen() && !given.isBlank(),
      limits: given.options.triggerLimits,
    });
  },
  close: (triggers) => triggers.close(),
});
