import { createClient } from '@svc/runtime/client';
import type { Bootstrap } from '../app/bootstrap.ts';
import type { BoxContext } from '../app/box.ts';
import { createBoxEvents } from './events.ts';
import { createIdentity } from './identity.ts';
import { createSession } from './session.ts';

/** The box behind the address that the bootstrap names: of this origin, or of another, which takes identity tokens. */
export function openBox(bootstrap: Bootstrap): BoxContext {
  const baseUrl = new URL(bootstrap.box, location.origin).href.replace(/\/$/, '');
  const session = createSession();
  const identity = bootstrap.place === 'full' ? createIdentity(bootstrap.installation ?? '', session) : undefined;
  const ask = async (request: Request | string, init?: RequestInit): Promise<Response> => {
    const answer = await fetch(request, init);
    // Behind a proxy it is the cookie that lets a request through; elsewhere a token, or nothing.
    if (bootstrap.place === 'standalone') session.note(answer.status !== 401);
    return answer;
  };
  const options = {
    baseUrl,
    fetch: (request: Request) => ask(request),
    ...(identity ? { token: identity.token } : {}),
  };
  const client = createClient(options);
  return {
    bootstrap,
    client,
    session,
    events: createBoxEvents((lastEventId, signal, onAlive) => {
      const watched = createClient({ ...options, fetch: async (request) => watch(await ask(request), onAlive) });
      return watched.stream('events.stream', lastEventId === undefined ? {} : { lastEventId }, { signal });
    }),
    async fetch(path, init = {}) {
      const headers = new Headers(init.headers);
      if (identity) headers.set('authorization', `Bearer ${await identity.token()}`);
      return ask(baseUrl + path, { ...init, headers });
    },
  };
}

// --- internal ---

/** The same answer; `onAlive` is called when it begins, and with each piece that comes. */
function watch(answer: Response, onAlive: () => void): Response {
  if (!answer.ok || !answer.body) return answer;
  onAlive();
  const pieces = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, controller) {
      onAlive();
      controller.enqueue(piece);
    },
  });
  return new Response(answer.body.pipeThrough(pieces), answer);
}
