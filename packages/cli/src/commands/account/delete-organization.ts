import { needCurrentSession } from '../../account/need-current.ts';
import { forgetSession } from '../../account/session.ts';
import { toSegment } from '../../client/client.ts';
import { confirmForGood } from '../../confirm.ts';
import { CliError, EXIT } from '../../errors.ts';
import { object, string } from '../../payload/payload.ts';
import { defineVerb } from '../../verb.ts';

export const deleteOrganization = defineVerb({
  examples: ['svc account delete-organization acme', 'svc account delete-organization acme --yes'],
  args: {
    organization: { type: 'positional', required: true, description: 'Its slug, as `svc whoami` shows it.' },
    yes: { type: 'boolean', default: false, description: 'Do not ask whether you mean it.' },
  },
  payload: object({
    organization: string('The slug of the organization there was.'),
    endpoint: string('The address of the control plane.'),
  }),
  async run({ organization, yes }, context) {
    const { endpoint, request } = needCurrentSession(context);
    const path = '/api/v1/orgs';
    const { items } = await request<{ items: { id: string; slug: string }[] }>({ method: 'GET', path });
    const found = items.find(({ slug }) => slug === organization);
    if (!found)
      throw new CliError('not_found', `You are not signed in for an organization "${organization}" at ${endpoint}.`, {
        exitCode: EXIT.notFound,
        suggestion: 'A session is for one organization: run `svc login` and choose that one.',
      });
    await confirmForGood(`svc account delete-organization ${organization}`, { isConfirmed: yes, context });
    await request({ method: 'DELETE', path: `${path}/${toSegment(found.id)}`, body: { confirm: organization } });
    // It was for that organization.
    await forgetSession(endpoint, context);
    return {
      data: { organization, endpoint },
      human: ({ green }) => `${green('Deleted')} ${organization} at ${endpoint}`,
      hint: 'Its boxes go on. You are signed out: run `svc login` for another organization.',
    };
  },
});
