import { needCurrentSession } from '../../account/need-current.ts';
import { readIdentity } from '../../account/identity.ts';
import { forgetSession } from '../../account/session.ts';
import { confirmForGood } from '../../confirm.ts';
import { object, string } from '../../payload/payload.ts';
import { defineVerb } from '../../verb.ts';

export const deleteAccount = defineVerb({
  examples: ['svc account delete', 'svc account delete --yes < password.txt'],
  args: {
    yes: { type: 'boolean', default: false, description: 'Do not ask whether you mean it.' },
  },
  payload: object({
    user: string('The e-mail address of the account there was.'),
    endpoint: string('The address of the control plane.'),
  }),
  async run({ yes }, context) {
    const session = needCurrentSession(context);
    const { endpoint, request } = session;
    const { user } = await readIdentity(session);
    await confirmForGood(`svc account delete (${user} at ${endpoint})`, { isConfirmed: yes, context });
    const { mayAsk, ask, readStdin } = context;
    // Never a flag: a command line is kept in histories and seen by every program of the machine.
    const typed = mayAsk ? await ask(QUESTION, { isHidden: true }) : await readStdin();
    const password = typed?.replace(/\r?\n$/, '');
    await request({
      method: 'DELETE',
      path: '/api/v1/me',
      body: { confirm: user, ...(password ? { password } : {}) },
    });
    await forgetSession(endpoint, context);
    return { data: { user, endpoint }, human: ({ green }) => `${green('Deleted')} ${user} at ${endpoint}` };
  },
});

// --- internal ---

const QUESTION = 'Your password there (empty: you sign in at a provider): ';
