import type { H3 } from 'h3';
import { z } from 'zod';
import { mountRoute } from './app.ts';
import type { RouteEntry } from './app.ts';
import { answerJson } from './answer.ts';
import { escapeHtml } from './html.ts';

export const ROOT_ROUTE: RouteEntry = {
  method: 'GET',
  path: '/',
  summary: 'List the routes',
  doc: {
    id: 'routes.list',
    tag: 'reference',
    security: 'none',
    answers: {
      200: {
        description: 'The routes, as a page for a browser and as JSON otherwise',
        content: {
          'application/json': z.object({
            slug: z.string(),
            routes: z.array(z.object({ method: z.string(), path: z.string(), summary: z.string() })),
          }),
          'text/html': undefined,
        },
      },
    },
  },
};

export interface RootOptions {
  slug: string;
  routes: readonly RouteEntry[];
  /** The path where the host serves a dashboard. */
  dashboard?: string | undefined;
}

/** The root address: the box's own route list, as a page for a browser and as JSON otherwise. */
export function mountRoot(app: H3, options: RootOptions): void {
  const { slug, dashboard } = options;
  const routes = options.routes.map(({ method, path, summary }) => ({ method, path, summary }));
  mountRoute(app, ROOT_ROUTE, (event) => {
    if (!event.req.headers.get('accept')?.includes('text/html')) return answerJson(200, { slug, routes });
    return new Response(toPage(slug, routes, dashboard), { headers: { 'content-type': 'text/html; charset=utf-8' } });
  });
}

// --- internal ---

function toPage(slug: string, routes: readonly RouteEntry[], dashboard: string | undefined): string {
  const first = dashboard === undefined ? '' : `<a href="${escapeHtml(dashboard)}">Dashboard</a> · `;
  const rows = routes
    .map((route) => `<tr><td>${route.method}</td><td>${toPlace(route)}</td><td>${escapeHtml(route.summary)}</td></tr>`)
    .join('\n');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(slug)}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}td{padding:.2rem .8rem .2rem 0;vertical-align:top}</style>
</head><body><h1>${escapeHtml(slug)}</h1><p>The routes this box serves now. ${first}<a href="/api/docs">What they take and answer</a> · <a href="/health">Health</a></p><table>
${rows}
</table></body></html>
`;
}

/** A link where a browser can follow it: what it gets, and needs no name for. */
function toPlace({ method, path }: RouteEntry): string {
  const place = `<code>${escapeHtml(path)}</code>`;
  return method === 'GET' && !path.includes(':') ? `<a href="${escapeHtml(path)}">${place}</a>` : place;
}
