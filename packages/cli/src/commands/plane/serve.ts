import type { Plane } from '@svc/control-plane';
import type { Context } from '../../context.ts';
import { CliError, EXIT } from '../../errors.ts';
import type { Style } from '../../terminal/style.ts';
import { toPlaneFailure } from './failure.ts';
import { readSecretKey } from './data-folder.ts';

export interface ServeOptions {
  folder: string;
  port: number;
  /** The first owner is made on the terminal. */
  mayAsk: boolean;
}

/** The full mode on this machine alone, until Ctrl-C. Its first owner is asked for on the terminal. */
export async function servePlane({ folder, port, mayAsk }: ServeOptions, context: Context) {
  const { createPlane, readSettings } = await import('@svc/control-plane');
  const settings = readSettings({
    SVC_LOG_LEVEL: 'warn',
    ...pickOwn(context.env),
    HOST: '127.0.0.1',
    PORT: String(port),
    PLANE_DATA_DIR: folder,
    PLANE_SECRET_KEY: await readSecretKey(folder),
    // Boxes of this machine and its network are what it is for.
    PLANE_ALLOW_PRIVATE: '1',
  });
  const plane = await open(() => createPlane({ settings }));
  try {
    await open(() => plane.listen());
    const url = plane.publicUrl();
    const { hasPeople, signup } = await readMethods(plane);
    const isByProvider = signup === 'provider';
    const hasOwner = hasPeople || (mayAsk && !isByProvider && (await signUpFirst(plane, context)));
    return {
      data: { url, data_dir: folder, has_owner: hasOwner },
      human: ({ green, bold }: Style) =>
        [
          `${green('Control plane')} ${bold(url)}`,
          ...(hasOwner
            ? []
            : [`  Nobody has signed up yet. The first to do so owns it: ${url}/${isByProvider ? 'login' : 'signup'}`]),
          `  Sign in from a terminal: svc login --endpoint ${url}`,
          `  Its data: ${folder}`,
        ].join('\n'),
      closed: waitForEnd(plane, context.signal),
    };
  } catch (error) {
    await plane.close();
    throw error;
  }
}

// --- internal ---

const TRIES = 3;

/** What a person may set of it; where it listens and what it keeps are the folder's. */
function pickOwn(env: Context['env']): NodeJS.ProcessEnv {
  const names = [
    'SVC_LOG_LEVEL',
    'SVC_PLANE_URL',
    'PLANE_TRUST_PROXY',
    'PLANE_TUNNEL_DOMAIN',
    'PLANE_PASSWORD_SIGNUP',
    'PLANE_OPEN_ORGANIZATIONS',
  ];
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => value && (names.includes(name) || name.startsWith('PLANE_OIDC_'))),
  );
}

async function open<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toPlaneFailure(error);
  }
}

/** Not over the network: its public address may be that of a proxy, from which it is not reached yet. */
async function ask(plane: Plane, path: string, init: RequestInit = {}): Promise<Response> {
  return plane.app.fetch(new Request(plane.publicUrl() + path, init));
}

async function readMethods(plane: Plane): Promise<{ hasPeople: boolean; signup: string }> {
  const answer = await ask(plane, '/api/v1/auth/methods');
  return (await answer.json()) as { hasPeople: boolean; signup: string };
}

/** False: the person left it for later. */
async function signUpFirst(plane: Plane, { ask: askPerson, say }: Context): Promise<boolean> {
  const url = plane.publicUrl();
  say('Nobody has signed up yet. The first person owns the first organisation.');
  for (let tries = 0; tries < TRIES; tries++) {
    const email = (await askPerson('Your e-mail address (Enter to sign up in a browser): ')).trim();
    if (email === '') return false;
    const name = (await askPerson('Your name: ')).trim() || email;
    const organization = (await askPerson('Name of the organisation: ')).trim() || name;
    const password = await askPerson('A password, of 12 characters or more: ', { isHidden: true });
    if (password !== (await askPerson('The same again: ', { isHidden: true }))) {
      say('The two are not the same.');
      continue;
    }
    const answer = await ask(plane, '/api/v1/auth/signup', {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url },
      body: JSON.stringify({ email, name, organization, password }),
    });
    if (answer.ok) return true;
    say(((await answer.json()) as { message: string }).message);
  }
  throw new CliError('generic', 'The first owner was not made.', {
    suggestion: `Run \`svc plane\` again, or sign up in a browser: svc plane --yes, then ${url}/signup`,
  });
}

async function waitForEnd(plane: Plane, signal: AbortSignal): Promise<number> {
  if (!signal.aborted) await new Promise((done) => signal.addEventListener('abort', done, { once: true }));
  await plane.close();
  return EXIT.ok;
}
