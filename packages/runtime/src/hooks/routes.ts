import type { H3, H3Event } from 'h3';
import { mountRoute } from '../http/app.ts';
import type { RouteEntry } from '../http/app.ts';
import { inspectJson, isJsonType, readText } from '../http/body.ts';
import type { Hooks } from './hooks.ts';

export const WEBHOOK_PREFIX = '/api/webhooks/';

const ROUTE: RouteEntry = {
  method: 'POST',
  path: `${WEBHOOK_PREFIX}:token`,
  summary: 'Resume a webhook; the token is the credential',
};
export const WEBHOOK_ROUTES: RouteEntry[] = [ROUTE];

/** The address an outside service calls: any body, and the token in the path is what lets it in. */
export function mountWebhooks(app: H3, hooks: Hooks): void {
  mountRoute(app, ROUTE, async (event: H3Event) => {
    const { req } = event;
    const text = await readText(req);
    const answer = await hooks.call(event.context.params?.token ?? '', {
      method: req.method,
      url: req.url,
      headers: Object.fromEntries(req.headers),
      body: isJsonType(req.headers.get('content-type')) ? parseOrText(text) : text,
    });
    return new Response(answer.body === '' ? null : answer.body, { status: answer.status, headers: answer.headers });
  });
}

// --- internal ---

function parseOrText(text: string): unknown {
  const value = tryParse(text);
  inspectJson(value);
  return value;
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
