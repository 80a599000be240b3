import type { Agents } from '../agents/agents.ts';
import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import { defineRoom } from '../operations/room.ts';
import type { Workflows } from '../workflows/workflows.ts';
import type { TriggerLimits } from './limits.ts';
import {
  createTrigger,
  deleteTrigger,
  getTrigger,
  listTriggers,
  redeliverTrigger,
  updateTrigger,
} from './operations.ts';
import { createTriggers } from './triggers.ts';
import type { TriggersOptions } from './triggers.ts';

export interface Given extends Pick<TriggersOptions, 'db' | 'installation' | 'url' | 'kv'> {
  masterKey: TriggersOptions['key'];
  workflows: Workflows;
  agents: Agents;
  log: Log;
  isBlank(): boolean;
  isOpen(): boolean;
  options: { triggerLimits?: Partial<TriggerLimits> };
  foundation: { mask: Mask };
}

export const triggersRoom = defineRoom({
  name: 'triggers',
  operations: [listTriggers, getTrigger, createTrigger, updateTrigger, redeliverTrigger, deleteTrigger],
  create: ({ masterKey: key, isBlank, isOpen, options, foundation: { mask }, ...given }: Given) =>
    createTriggers({
      db: given.db,
      key,
      installation: given.installation,
      kv: given.kv,
      workflows: given.workflows,
      agents: given.agents,
      url: given.url,
      log: given.log,
      mask,
      isUsed: () => isOpen() && !isBlank(),
      limits: options.triggerLimits,
    }),
  close: (triggers) => triggers.close(),
});
