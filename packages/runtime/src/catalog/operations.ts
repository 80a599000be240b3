import { z } from 'zod';
import { operation } from '../operations/define.ts';

export const discover = operation({
  id: 'discovery.get',
  summary: 'List the names of the agents and workflows',
  route: 'GET /api/discovery',
  tag: 'catalog',
  kind: 'read',
  permission: 'catalog:read',
  copilot: 'yes',
  input: z.strictObject({}),
  output: z.object({ agents: z.array(z.string()), workflows: z.array(z.string()) }),
  handle: ({ catalog }) => ({
    agents: catalog.agents().map(({ entry }) => entry.name),
    workflows: catalog.workflows().map(({ entry }) => entry.name),
  }),
});
