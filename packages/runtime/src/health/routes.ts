import type { H3 } from 'h3';
import { answerJson } from '../http/answer.ts';
import type { RouteEntry } from '../http/app.ts';
import type { Health } from './health.ts';

/** The probes of a platform: plain routes, because their status code carries the answer. */
export const HEALTH_ROUTES: RouteEntry[] = [
  { method: 'GET', path: '/live', summary: 'Answer at once that the process serves' },
  { method: 'GET', path: '/health', summary: 'Probe every subsystem; 503 names the one that fails' },
];

export function mountHealth(app: H3, health: Health): void {
  app.get('/live', () => answerJson(200, { status: 'ok' }));
  app.get('/health', async () => {
    const answer = await health.check();
    return answerJson(answer.status === 'ok' ? 200 : 503, answer);
  });
}
