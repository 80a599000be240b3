import { isHeadless, openBrowser } from '../account/browser.ts';
import { changeCredentials, readCredentials } from '../account/credentials.ts';
import { DEVICE_CODE_LINE, runDeviceFlow } from '../account/device-flow.ts';
import { findEndpoint } from '../account/endpoint.ts';
import { IDENTITY, readIdentity } from '../account/identity.ts';
import { needSession } from '../account/session.ts';
import { CliError } from '../errors.ts';
import type { TypeOf } from '../payload/payload.ts';
import { findProject } from '../client/target.ts';
import { defineVerb } from '../verb.ts';

export const login = defineVerb({
  examples: ['svc login', 'svc login --endpoint https://studio.example.com --no-browser'],
  args: {
    browser: {
      type: 'boolean',
      default: true,
      description: 'Open the page in a browser. Not in CI, over SSH or with --json.',
      negativeDescription: 'Print the address and the code alone.',
    },
    endpoint: {
      type: 'string',
      valueHint: 'address',
      description: 'The control plane. Default: SVC_CONTROL_PLANE_URL, then the one signed in to last.',
    },
  },
  payload: IDENTITY,
  stderr: DEVICE_CODE_LINE,
  async run({ browser, endpoint: flag }, context) {
    const { cwd, env, json, say, note, progress } = context;
    const endpoint = findEndpoint({ env, flag, root: findProject(cwd) });
    if (endpoint === undefined)
      throw new CliError('control_plane_missing', 'There is nothing to sign in to: no control plane is configured.', {
        suggestion:
          'Name yours: svc login --endpoint https://studio.example.com, or set SVC_CONTROL_PLANE_URL. Everything local works without one.',
      });
    // A file that cannot take the session is reported before the person approves it.
    readCredentials(env);
    const tokens = await runDeviceFlow(endpoint, context, {
      show(code) {
        note({ type: 'device_code', ...code } satisfies TypeOf<typeof DEVICE_CODE_LINE>);
        const isOpened = browser && !json && context.mayAsk && !isHeadless(env);
        say(`Open ${code.verificationUri} and enter the code ${code.userCode}`);
        if (code.verificationUriComplete !== code.verificationUri) say(`or open ${code.verificationUriComplete}`);
        if (isOpened) openBrowser(code.verificationUriComplete, env);
        progress('Waiting for you to approve it there …');
      },
    });
    await changeCredentials(context, (credentials) => {
      credentials.endpoints[endpoint] = tokens;
      credentials.current = endpoint;
    });
    const identity = await readIdentity(needSession(endpoint, context));
    return {
      data: identity,
      human: ({ green, bold }) => `${green('Signed in')} to ${endpoint} as ${bold(identity.user)}`,
    };
  },
});
