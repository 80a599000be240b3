import type { H3 } from 'h3';
import { answerJson } from '../http/answer.ts';
import { mountRoute } from '../http/app.ts';
import type { RouteEntry } from '../http/app.ts';
import type { Health } from './health.ts';

const LIVE: RouteEntry = { method: 'GET', path: '/live', summary: 'Answer at once that the process serves' };
const HEALTH: RouteEntry = {
  method: 'GET',
  path: '/health',
  summary: 'Probe every subsystem; 503 names the one that fails',
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
