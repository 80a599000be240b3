import { createClient } from '@svc/runtime/client';
import type { Bootstrap } from '../app/bootstrap.ts';
import type { BoxContext } from '../app/box.ts';
import { createBoxEvents } from './events.ts';
import { createIdentity } from './identity.ts';

/** The box behind the address that the bootstrap names: of this origin, or of another, which takes identity tokens. */
export function openBox(bootstrap: Bootstrap): BoxContext {
  const baseUrl = new URL(bootstrap.box, location.origin).href.replace(/\/$/, '');
  const identity = bootstrap.place === 'full' ? createIdentity(bootstrap.installation ?? '') : undefined;
  const options = { baseUrl, ...(identity ? { token: identity.token } : {}) };
  const client = createClient(options);
  return {
    bootstrap,
    client,
    events: createBoxEvents((lastEventId, signal, onAlive) => {
      const watched = createClient({ ...options, fetch: async (request) => watch(await fetch(request), onAlive) });
      return watched.stream('events.stream', lastEventId === undefined ? {} : { lastEventId }, { signal });
    }),
    async fetch(path, init = {}) {
      const headers = new Headers(init.headers);
      if (identity) headers.set('authorization', `Bearer ${await identity.token()}`);
      return fetch(baseUrl + path, { ...init, headers });
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
