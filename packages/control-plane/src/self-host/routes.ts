import { z } from 'zod';
import { route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import type { AgentReport } from './agent.ts';

/** The oldest protocol of a box that the control plane works with. */
const MIN_CONTRACT = 15;

export function selfHostRoutes({ version, ask }: { version: string; ask(): Promise<AgentReport> }): Route[] {
  return [
    route({
      id: 'selfHost.health',
      method: 'GET',
      path: '/api/v1/self-host/health',
      summary: 'Say how the control plane is, and whether it reaches the box',
      tag: 'health',
      mode: 'standalone',
      access: 'anyone',
      answer: Health,
      // 200 whatever the box does: a control plane that is restarted for it could not show what is wrong with it.
      async handle() {
        const agent = await ask();
        const isWhole = agent.contract !== null && agent.contract >= MIN_CONTRACT;
        return { status: isWhole ? 'ok' : 'degraded', version, agent, minContract: MIN_CONTRACT };
      },
    }),
  ];
}

// --- internal ---

const Health = z.object({
  status: z.enum(['ok', 'degraded']),
  version: z.string(),
  agent: z.object({
    reachable: z.boolean(),
    contract: z.int().nullable(),
    build: z.object({ name: z.string(), version: z.string() }).nullable(),
  }),
  minContract: z.int(),
});
