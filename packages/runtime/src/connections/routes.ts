import { createHash } from 'node:crypto';
import type { H3 } from 'h3';
import { BoxError } from '../errors.ts';
import { mountRoute } from '../http/app.ts';
import type { RouteEntry } from '../http/app.ts';
import { escapeHtml } from '../http/html.ts';
import { CALLBACK_PATH } from './connections.ts';
import type { Connections } from './connections.ts';

export const CONNECT_ROUTES: RouteEntry[] = [
  {
    method: 'GET',
    path: CALLBACK_PATH,
    summary: 'End a sign-in at a service: where its page sends the browser back to',
    doc: {
      id: 'connections.callback',
      tag: 'connections',
      security: 'none',
      query: {
        state: 'What the sign-in began with, and the credential of this route',
        code: 'What the service hands over',
        error: 'Why it hands over nothing',
      },
      answers: {
        200: { description: 'A page that says that the service is connected', content: { 'text/html': undefined } },
        400: { description: 'A page that says why it is not', content: { 'text/html': undefined } },
        502: {
          description: 'A page that says that the service could not be asked',
          content: { 'text/html': undefined },
        },
      },
    },
  },
];

/** Whoever comes here is a browser that another site has sent: the state it brings is what lets it in, and once. */
export function mountConnect(app: H3, connections: Connections): void {
  for (const route of CONNECT_ROUTES)
    mountRoute(app, route, async ({ req, url }) => {
      if (req.method === 'HEAD') return toPage(400, 'Not connected', 'A browser comes here with GET.');
      try {
        const { id, title } = await connections.finish(url.searchParams);
        return toPage(
          200,
          `${title} is connected`,
          `The connection “${id}” can be used now. You can close this window.`,
          CLOSE,
        );
      } catch (error) {
        if (!(error instanceof BoxError)) throw error;
        return toPage(error.status < 500 ? 400 : 502, 'Not connected', error.message);
      }
    });
}

// --- internal ---

/** What the dashboard calls the window that it opens for a sign-in. */
const SIGN_IN_WINDOW = 'svc-sign-in';
/** Closes the window that was opened for this. A tab that a person has opened, or a browser that forgot its name, stays. */
const CLOSE = `if (name === ${JSON.stringify(SIGN_IN_WINDOW)}) close()`;

function toPage(status: number, title: string, text: string, script?: string): Response {
  const body = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:20vh auto;max-width:32rem;padding:0 1rem}p{overflow-wrap:anywhere}</style>
</head><body><main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p></main>${script === undefined ? '' : `<script>${script}</script>`}</body></html>
`;
  const hash =
    script === undefined ? '' : `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'; `;
  return new Response(body, { status, headers: { ...HEADERS, 'content-security-policy': hash + POLICY } });
}

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  // Its address holds what the service has handed over.
  'referrer-policy': 'no-referrer',
};
