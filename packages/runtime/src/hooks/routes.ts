import type { H3, H3Event } from 'h3';
import { keepBytes } from '../engine/values/bodies.ts';
import { mountRoute } from '../http/app.ts';
import type { RouteEntry } from '../http/app.ts';
import { inspectJson, isJsonType, readBody } from '../http/body.ts';
import type { Hooks, TakeOptions } from './hooks.ts';

export const WEBHOOK_PREFIX = '/api/webhooks/';

/** @param origin of the box */
export function toWebhookUrl(origin: string, token: string): string {
  return `${origin}${WEBHOOK_PREFIX}${token}`;
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export const WEBHOOK_ROUTES: RouteEntry[] = METHODS.map((method) => ({
  method,
  path: `${WEBHOOK_PREFIX}:token`,
  summary: 'Resume a webhook; the token is the credential',
  doc: {
    id: `webhooks.${method.toLowerCase()}`,
    tag: 'webhooks',
    security: 'none',
    errors: [
      'hook_not_found',
      'hook_closed',
      'hook_queue_full',
      'payload_too_large',
      'overloaded',
      'invalid_json',
      'webhook_unanswered',
    ],
    ...(method === 'GET' || method === 'DELETE' ? {} : { body: 'any' as const }),
    answers: { 200: { description: 'What the workflow answers', content: { '*/*': undefined } } },
  },
}));

/** The address an outside service calls: any method and any body, and the token in the path is what lets it in. */
export function mountWebhooks(app: H3, hooks: Hooks): void {
  for (const route of WEBHOOK_ROUTES)
    mountRoute(app, route, async (event: H3Event) => {
      const token = event.context.params?.token ?? '';
      if (event.req.method !== 'HEAD') return hooks.call(token, (options) => takeRequest(event.req, options));
      // Whoever asks whether the address is there is no caller.
      await hooks.checkWebhook(token);
      return new Response(null, { status: 204 });
    });
}

// --- internal ---

/** The journal keeps what is taken, and lists show it. */
const CREDENTIALS = ['authorization', 'proxy-authorization', 'cookie'];

/** The request without its connection, and with all of its body. JSON is refused here where reading it would do harm. */
async function takeRequest(req: Request, { keepsCredentials }: TakeOptions): Promise<Request> {
  const bytes = await readBody(req);
  const { method, url } = req;
  const headers = new Headers(req.headers);
  if (!keepsCredentials) for (const name of CREDENTIALS) headers.delete(name);
  if (isJsonType(headers.get('content-type'))) inspectJson(parseOrText(bytes.toString('utf8')));
  const body = bytes.length === 0 || method === 'GET' ? null : new Uint8Array(bytes);
  return keepBytes(new Request(url, { method, headers: [...headers], body }), body);
}

function parseOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
