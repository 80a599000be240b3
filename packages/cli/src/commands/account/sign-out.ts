import { needCurrentSession } from '../../account/need-current.ts';
import { toSegment } from '../../client/client.ts';
import { CliError, EXIT, usageError } from '../../errors.ts';
import { integer, object, string } from '../../payload/payload.ts';
import { defineVerb } from '../../verb.ts';

export const signOut = defineVerb({
  examples: ['svc account sign-out 4f7c0f0e-5d0c-4b0e-9d52-0c9f6f9a1f10', 'svc account sign-out --others'],
  args: {
    session: { type: 'positional', description: 'The id of a session, as `svc account sessions` lists it.' },
    others: { type: 'boolean', default: false, description: 'Every session but the one of this command line.' },
  },
  payload: object({
    endpoint: string('The address of the control plane.'),
    ended: integer('How many sessions have ended.', { minimum: 0 }),
  }),
  async run({ session, others }, context) {
    if ((session !== undefined) === others)
      throw usageError('"svc account sign-out" takes a session, or --others.', `For example: ${signOut.examples[0]}`);
    const { endpoint, request } = needCurrentSession(context);
    const path = '/api/v1/sessions';
    const { ended = 1 } = await request<{ ended?: number }>({
      method: 'DELETE',
      path: session === undefined ? path : `${path}/${toSegment(session)}`,
    }).catch(noSession);
    const what = ended === 1 ? '1 session' : `${ended} sessions`;
    return {
      data: { endpoint, ended },
      human: ({ green }) => `${green('Signed out')} ${what} at ${endpoint}`,
    };
  },
});

// --- internal ---

function noSession(error: unknown): never {
  if (!(error instanceof CliError) || error.exitCode !== EXIT.notFound) throw error;
  throw new CliError(error.code, error.message, {
    exitCode: EXIT.notFound,
    suggestion: 'List them: svc account sessions',
  });
}
