import { findEndpoint } from '../account/endpoint.ts';
import { IDENTITY, readIdentity } from '../account/identity.ts';
import { needSession, noPlane } from '../account/session.ts';
import { findProject } from '../client/target.ts';
import { defineVerb } from '../verb.ts';

export const whoami = defineVerb({
  examples: ['svc whoami', 'svc whoami --json'],
  args: {},
  payload: IDENTITY,
  async run(_, context) {
    const endpoint = findEndpoint({ env: context.env, root: findProject(context.cwd) });
    if (endpoint === undefined) throw noPlane();
    const identity = await readIdentity(needSession(endpoint, context));
    const { user, userId, organization } = identity;
    return {
      data: identity,
      human: ({ bold, dim }) =>
        [
          `${dim('User')}          ${bold(user)}`,
          `${dim('User id')}       ${userId}`,
          `${dim('Organization')}  ${organization}`,
          `${dim('Endpoint')}      ${endpoint}`,
        ].join('\n'),
    };
  },
});
