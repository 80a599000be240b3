import { changeCredentials, readCredentials } from '../account/credentials.ts';
import { findEndpoint } from '../account/endpoint.ts';
import { askPlane } from '../account/plane.ts';
import { CLIENT_ID } from '../account/oauth.ts';
import { CliError, EXIT } from '../errors.ts';
import { boolean, nullable, object, string } from '../payload/payload.ts';
import { findProject } from '../client/target.ts';
import { defineVerb } from '../verb.ts';

export const logout = defineVerb({
  examples: ['svc logout', 'svc logout --endpoint https://studio.example.com'],
  args: {
    endpoint: {
      type: 'string',
      valueHint: 'address',
      description: 'The control plane. Default: SVC_CONTROL_PLANE_URL, then the one signed in to last.',
    },
  },
  payload: object({
    endpoint: nullable(string('The address of the control plane; null: none is configured.')),
    signedOut: boolean('Whether there was a session.'),
  }),
  async run({ endpoint: flag }, context) {
    const { cwd, env } = context;
    const endpoint = findEndpoint({ env, flag, root: findProject(cwd) }) ?? null;
    if (endpoint === null || !Object.hasOwn(readCredentials(env).endpoints, endpoint))
      return { data: { endpoint, signedOut: false }, human: () => 'You were not signed in.' };
    const tokens = await changeCredentials(context, (credentials) => {
      const { [endpoint]: kept, ...others } = credentials.endpoints;
      credentials.endpoints = others;
      if (credentials.current === endpoint) delete credentials.current;
      return kept;
    });
    const form = { token: tokens?.refreshToken ?? '', client_id: CLIENT_ID };
    // Out of this machine already; a control plane that is away ends the session when it grows old.
    await askPlane(endpoint, { method: 'POST', path: '/oauth/revoke', form }, context).catch(() => {
      if (context.signal.aborted) throw halfDone(endpoint);
    });
    return { data: { endpoint, signedOut: true }, human: () => `Signed out of ${endpoint}` };
  },
});

// --- internal ---

function halfDone(endpoint: string): CliError {
  return new CliError('generic', `Interrupted: you are signed out here, but ${endpoint} may not know.`, {
    exitCode: EXIT.interrupted,
    suggestion: 'Nothing has to be done: the session ends there when it grows old.',
  });
}
