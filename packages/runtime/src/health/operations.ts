import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Contract, contractPayload } from './contract.ts';
import type { Health } from './health.ts';

const operation = operationsOf<{ health: Health; browser: { works(): Promise<boolean> } }>();

export const getIdentity = operation({
  id: 'health.identity',
  summary: 'Name the answering host and the agent slug',
  route: 'GET /api/health',
  tag: 'health',
  kind: 'read',
  permission: 'none',
  copilot: 'yes',
  input: z.strictObject({}),
  output: z.object({ host: z.enum(['dev', 'image']), slug: z.string() }),
  handle: ({ health }) => health.identity(),
});

export const getContract = operation({
  id: 'contract.get',
  summary: 'Get the protocol version, the capabilities and the build',
  route: 'GET /api/contract',
  tag: 'health',
  kind: 'read',
  permission: 'none',
  copilot: 'yes',
  cli: 'contract show',
  input: z.strictObject({}),
  output: Contract,
  async handle({ health, browser }) {
    // Whatever is wrong with it, the box says what else it offers.
    const works = await browser.works().catch(() => false);
    return contractPayload({ storage: health.services().storage !== null, browser: works });
  },
});

export const getServices = operation({
  id: 'services.get',
  summary: 'Get the database, storage and agent endpoints; never the storage secret key',
  route: 'GET /api/services',
  tag: 'health',
  kind: 'read',
  permission: 'services:read',
  copilot: 'no: endpoints',
  input: z.strictObject({}),
  output: z.object({
    database: z.object({ url: z.string().nullable() }),
    storage: z
      .object({
        endpoint: z.string(),
        bucket: z.string(),
        region: z.string(),
        accessKeyId: z.string(),
        forcePathStyle: z.boolean(),
      })
      .nullable(),
    agent: z.object({ url: z.string() }),
  }),
  handle: ({ health }) => health.services(),
});
