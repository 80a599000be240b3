import type { IncomingMessage, ServerResponse } from 'node:http';
import type { H3Event } from 'h3';
import { PlaneError } from '../errors.ts';
import { guardAnswer, requestIdOf } from '../http/app.ts';
import { isOwnPage } from '../http/call.ts';
import type { OwnPages } from '../http/call.ts';
import type { Call, RawRoute } from '../http/route.ts';
import type { OperatorSessions } from '../operator/sessions.ts';
import type { BoxProxy } from './proxy.ts';
import { toBoxTarget } from './target.ts';

export interface BoxRoutes extends OwnPages {
  sessions: OperatorSessions;
  proxy: BoxProxy;
}

/** The box, for pages of the control plane: whoever is signed in asks it as its operator, without holding its token. */
export function boxRoutes({ proxy, sessions, ...door }: BoxRoutes): RawRoute[] {
  return [
    {
      method: 'ALL',
      path: '/box/**',
      mode: 'standalone',
      async handle(event, call) {
        const { request, response } = socketOf(event);
        const { method = '', url = '' } = request;
        if (!METHODS.includes(method)) throw notAllowed(method);
        const target = toBoxTarget(url);
        requireOwnPage(door, call);
        const cookies: string[] = [];
        if (!sessions.find({ ...call, setHeader: (_name, value) => void cookies.push(value) }))
          throw new PlaneError('unauthorized', 'You are not signed in. Sign in with the token of the operator.');
        await proxy.pass(request, response, {
          target,
          guard(answer) {
            guardAnswer(
              { has: (name) => answer.hasHeader(name), set: (name, value) => void answer.setHeader(name, value) },
              door.publicUrl(),
            );
            // An object of a box may be a page that anyone has written: it is served without an origin.
            answer.setHeader('content-security-policy', "sandbox; default-src 'none'; frame-ancestors 'none'");
            if (!answer.hasHeader('x-request-id')) answer.setHeader('x-request-id', requestIdOf(event));
            if (cookies.length > 0) answer.setHeader('set-cookie', cookies);
          },
        });
        // All is sent: of this nothing is.
        return new Response(null);
      },
    },
  ];
}

// --- internal ---

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Both are read and written as they are: web streams between them would cost more than all else. */
function socketOf({ runtime }: H3Event): { request: IncomingMessage; response: ServerResponse } {
  const { req, res } = runtime?.node ?? {};
  if (!req || !res) throw new Error('A request for the box came over no socket.');
  return { request: req as IncomingMessage, response: res as ServerResponse };
}

function notAllowed(method: string): PlaneError {
  const allow = METHODS.join(', ');
  return new PlaneError('method_not_allowed', `${method} is not allowed here. Allowed: ${allow}.`, {
    headers: { allow },
  });
}

/** Throws `origin_not_allowed`: bodies keep their type here, so that only the origin identifies the sender. */
function requireOwnPage(door: OwnPages, { request: { method, headers } }: Call): void {
  const site = headers.get('sec-fetch-site');
  const isRead = method === 'GET' || method === 'HEAD';
  if (isRead ? site === null || site === 'none' || site === 'same-origin' : isOwnPage(door, headers)) return;
  throw new PlaneError('origin_not_allowed', `Only pages of ${door.publicUrl()} may ask the box by way of it.`);
}
