import { createClient } from '@svc/runtime/client';
import type { Bootstrap } from '../app/bootstrap.ts';
import type { BoxContext } from '../app/box.ts';
import { createBoxEvents } from './events.ts';
import { createIdentity } from './identity.ts';

/** The box behind the address that the bootstrap names: of this origin, or of another, which takes identity tokens. */
export function openBox(bootstrap: Bootstrap): BoxContext {
  const baseUrl = new URL(bootstrap.box, location.origin).href.replace(/\/$/, '');
  const identity = bootstrap.place === 'full' ? createIdentity(bootstrap.installation ?? '') : undefined;
  const client = createClient({ baseUrl, ...(identity ? { token: identity.token } : {}) });
  return {
    bootstrap,
    client,
    events: createBoxEvents((lastEventId, signal) =>
      client.stream('events.stream', lastEventId === undefined ? {} : { lastEventId }, { signal }),
    ),
    async fetch(path, init = {}) {
      const headers = new Headers(init.headers);
      if (identity) headers.set('authorization', `Bearer ${await identity.token()}`);
      return fetch(baseUrl + path, { ...init, headers });
    },
  };
}
