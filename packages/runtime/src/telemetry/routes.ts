import { createHash, timingSafeEqual } from 'node:crypto';
import type { H3 } from 'h3';
import type { Auth } from '../auth/auth.ts';
import { requirePermission } from '../auth/caller.ts';
import { readCredential } from '../auth/credential.ts';
import { mountRoute } from '../http/app.ts';
import type { RouteEntry } from '../http/app.ts';
import type { Telemetry } from './telemetry.ts';

export const METRICS_ROUTE: RouteEntry = {
  method: 'GET',
  path: '/metrics',
  summary: 'Get the figures of this process in the text format of Prometheus',
  doc: {
    id: 'metrics.get',
    tag: 'health',
    security: 'caller',
    errors: ['unauthorized', 'forbidden'],
    answers: { 200: { description: 'The figures', content: { 'text/plain': undefined } } },
  },
};

export interface MetricsOptions {
  telemetry: Pick<Telemetry, 'write'>;
  auth: Pick<Auth, 'authenticate'>;
  /** Lets a scraper in, besides whoever may read the services of the box. */
  token: string | undefined;
}

export function mountMetrics(app: H3, { telemetry, auth, token }: MetricsOptions): void {
  mountRoute(app, METRICS_ROUTE, async ({ req }) => {
    const given = readCredential(req.headers);
    const isScraper = token !== undefined && given?.isBearer === true && isSame(given.value, token);
    if (!isScraper) requirePermission(await auth.authenticate(req.headers), 'services:read');
    return new Response(await telemetry.write(), {
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
    });
  });
}

// --- internal ---

function isSame(given: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
