import type { H3 } from 'h3';
import { z } from 'zod';
import { answerJson } from '../http/answer.ts';
import { mountRoute } from '../http/app.ts';
import type { RouteEntry } from '../http/app.ts';
import type { Health } from './health.ts';

const Check = z.object({
  status: z.enum(['ok', 'failed']),
  reason: z.string().optional().describe('Why it failed'),
  warning: z.string().optional().describe('What to change about one that works'),
});
const Report = z.object({ status: z.enum(['ok', 'degraded']), checks: z.record(z.string(), Check) });

const LIVE: RouteEntry = {
  method: 'GET',
  path: '/live',
  summary: 'Answer at once that the process serves',
  doc: {
    id: 'health.live',
    tag: 'health',
    security: 'none',
    answers: {
      200: {
        description: 'It serves',
        content: { 'application/json': z.object({ status: z.literal('ok') }) },
      },
    },
  },
};
const HEALTH: RouteEntry = {
  method: 'GET',
  path: '/health',
  summary: 'Probe every subsystem; 503 names the one that fails',
  doc: {
    id: 'health.check',
    tag: 'health',
    security: 'none',
    answers: {
      200: { description: 'Every subsystem answers', content: { 'application/json': Report } },
      503: { description: 'The failed subsystem, and why', content: { 'application/json': Report } },
    },
  },
};

/** The probes of a platform: plain routes, because their status code carries the answer. */
export const HEALTH_ROUTES: RouteEntry[] = [LIVE, HEALTH];

export function mountHealth(app: H3, health: Health): void {
  mountRoute(app, LIVE, () => answerJson(200, { status: 'ok' }));
  mountRoute(app, HEALTH, async () => {
    const answer = await health.check();
    return answerJson(answer.status === 'ok' ? 200 : 503, answer);
  });
}
