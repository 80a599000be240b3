import { isHeadless, openBrowser } from '../account/browser.ts';
import { changeCredentials } from '../account/credentials.ts';
import { runDeviceFlow } from '../account/device-flow.ts';
import { findEndpoint } from '../account/endpoint.ts';
import { IDENTITY_PAYLOAD, readIdentity } from '../account/identity.ts';
import { needSession } from '../account/session.ts';
import { CliError } from '../errors.ts';
import { findProject } from '../target.ts';
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
  payload: IDENTITY_PAYLOAD,
  async run({ browser, endpoint: flag }, context) {
    const { cwd, env, json, say, note, progress } = context;
    const endpoint = findEndpoint({ env, flag, root: findProject(cwd) });
    if (endpoint === undefined)
      throw new CliError('control_plane_missing', 'There is nothing to sign in to: no control plane is configured.', {
        suggestion:
          'Name yours: svc login --endpoint https://studio.example.com, or set SVC_CONTROL_PLANE_URL. Everything local works without one.',
      });
    const tokens = await runDeviceFlow(endpoint, context, {
      show(code) {
        note({ type: 'device_code', ...code });
        const isOpened = browser && !json && context.mayAsk && !isHeadless(env);
        say(`Open ${code.verificationUri} and enter the code ${code.userCode}`);
        if (code.verificationUriComplete !== code.verificationUri) say(`or open ${code.verificationUriComplete}`);
        if (isOpened) openBrowser(code.verificationUriComplete, env);
        progress('Waiting for you to approve it there …');
      },
    });
    await changeCredentials(env, (credentials) => {
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
