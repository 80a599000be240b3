import { z } from 'zod';
import { route } from '../http/route.ts';
import type { Route } from '../http/route.ts';

/** What the page of the sign-in offers. */
export function methodsRoute({ hasProvider }: { hasProvider: boolean }): Route {
  return route({
    id: 'auth.methods',
    method: 'GET',
    path: '/api/v1/auth/methods',
    summary: 'Say how people may sign in here',
    tag: 'auth',
    access: 'anyone',
    answer: z.object({ password: z.literal(true), oidc: z.boolean() }),
    handle: async () => ({ password: true, oidc: hasProvider }),
  });
}
