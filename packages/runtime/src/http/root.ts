import type { H3 } from 'h3';
import { mountRoute } from './app.ts';
import type { RouteEntry } from './app.ts';
import { answerJson } from './answer.ts';

export const ROOT_ROUTE: RouteEntry = { method: 'GET', path: '/', summary: 'List the routes' };

/** The root address: the box's own route list, as a page for a browser and as JSON otherwise. */
export function mountRoot(app: H3, options: { slug: string; routes: readonly RouteEntry[] }): void {
  const { slug, routes } = options;
  mountRoute(app, ROOT_ROUTE, (event) => {
    if (!event.req.headers.get('accept')?.includes('text/html')) return answerJson(200, { slug, routes });
    return new Response(toPage(slug, routes), { headers: { 'content-type': 'text/html; charset=utf-8' } });
  });
}

// --- internal ---

function toPage(slug: string, routes: readonly RouteEntry[]): string {
  const rows = routes
    .map(
      ({ method, path, summary }) =>
        `<tr><td>${method}</td><td><code>${escape(path)}</code></td><td>${escape(summary)}</td></tr>`,
    )
    .join('\n');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escape(slug)}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}td{padding:.2rem .8rem .2rem 0;vertical-align:top}</style>
</head><body><h1>${escape(slug)}</h1><p>The routes this box serves now.</p><table>
${rows}
</table></body></html>
`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
