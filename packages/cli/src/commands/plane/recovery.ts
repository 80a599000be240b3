import { array, object, string } from '../../payload/payload.ts';
import { defineVerb } from '../../verb.ts';
import { DATA_ARG, readSecretKey, requireStore } from './data-folder.ts';
import { rethrowPlaneFailure } from './failure.ts';

export const resetPassword = defineVerb({
  examples: ['svc plane reset-password ada@example.com', 'svc plane reset-password ada@example.com --data-dir ./plane'],
  args: {
    email: { type: 'positional', required: true, description: 'Whose password: the e-mail address of the account.' },
    'data-dir': DATA_ARG,
  },
  completes: { 'data-dir': { paths: 'folders' } },
  payload: object({
    email: string('Whose it is.'),
    password: string('The new password. It is kept nowhere else.'),
  }),
  async run({ email, 'data-dir': dir }, context) {
    const dataDir = requireStore(dir, context, { also: `, and no account of "${email}"` });
    const plane = await import('@svc/control-plane');
    const data = await plane.resetPassword({ dataDir, databaseUrl: undefined }, email).catch(rethrowPlaneFailure);
    return {
      data,
      human: ({ bold }) => `The new password of ${data.email}: ${bold(data.password)}`,
      hint: 'It is shown once. The person is signed out everywhere; its tokens and its link with a provider are gone.',
    };
  },
});

export const rotateKeys = defineVerb({
  examples: ['svc plane rotate-keys', 'svc plane rotate-keys --revoke'],
  args: {
    revoke: {
      type: 'boolean',
      default: false,
      description: 'A key has leaked: replace the whole set, and refuse tokens signed before.',
    },
    'data-dir': DATA_ARG,
  },
  completes: { 'data-dir': { paths: 'folders' } },
  payload: object({
    kid: string('The id of the key that signs from here on.'),
    removed: array(string('The id of a key that is in the set no more.'), 'Empty without `--revoke`.'),
  }),
  async run({ revoke, 'data-dir': dir }, context) {
    const dataDir = requireStore(dir, context);
    const plane = await import('@svc/control-plane');
    const settings = { dataDir, databaseUrl: undefined, secretKey: await readSecretKey(dataDir) };
    const data = await plane.rotateKeys(settings, { revoke }).catch(rethrowPlaneFailure);
    return {
      data,
      human: ({ green }) => `${green(revoke ? 'Revoked' : 'Rotated')} ${data.kid} signs within a minute.`,
      hint: revoke
        ? 'Boxes refuse what the old keys have signed once they read the set again: within ten minutes.'
        : 'Boxes know the key already: nothing they were asked with is refused.',
    };
  },
});
