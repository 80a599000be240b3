import { defineRoom } from '../operations/room.ts';
import { createHealth } from './health.ts';
import type { HealthOptions } from './health.ts';
import { getContract, getIdentity, getServices } from './operations.ts';

export interface Given {
  options: Omit<HealthOptions, 'probes'>;
  probes: HealthOptions['probes'];
}

export const healthRoom = defineRoom({
  name: 'health',
  operations: [getIdentity, getContract, getServices],
  create: ({ options: { host, slug, log, services }, probes }: Given) =>
    createHealth({ host, slug, log, services, probes }),
});
