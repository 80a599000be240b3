import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { decide, signInCli } from '../../control-plane/test/_oauth.ts';
import { ask, cookieOf, logIn as logInByPassword, signUpFirst } from '../../control-plane/test/_people.ts';
import type { SignedInPerson } from '../../control-plane/test/_people.ts';
import { makeClock, startPlane } from '../../control-plane/test/_setup.ts';
import type { Credentials } from '../src/account/credentials.ts';
import type { CliResult } from '../src/main.ts';
import { openDoor } from './_door.ts';
import type { Door } from './_door.ts';
import { makeHome } from './_home.ts';
import { runCli } from './_run.ts';

type Env = Record<string, string>;

/** `svc login`, and what a person does on the page as soon as the command line shows its code. */
export async function logIn(
  plane: { url: string },
  person: SignedInPerson,
  env: Env,
  decision = 'approve',
): Promise<CliResult> {
  let decided: Promise<unknown> | undefined;
  const result = await runCli(['login', '--json'], {
    env,
    onStderr(text) {
      const code = findCode(text);
      if (code) decided = decide(plane, person, code, decision);
    },
  });
  await decided;
  return result;
}

/** The code that a person enters, of what a command line shows. */
export function findCode(text: string): string | undefined {
  return text.match(CODE)?.[0];
}

export const CODE = /\b[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}\b/g;

/** A control plane with a door in front of it, and its first person, Ada. */
export interface Account {
  /** Its address is the door's. */
  plane: Door;
  ada: SignedInPerson;
  /** The time at the control plane, which is moved; command lines have the machine's. */
  clock: ReturnType<typeof makeClock>;
  /** The environment of Ada with an empty home. */
  env: Env;
  /** What Ada does on the page where a code is entered; she signs in for it, and out. */
  decide(code: string, decision?: 'approve' | 'deny'): Promise<void>;
  /** Ends every session of Ada. */
  revokeAll(): Promise<void>;
}

/** Between two polls of `svc login`, for tests that are not about them. */
export const QUICK_POLL_S = 0.05;

/** `pollSeconds`: between two polls of `svc login`. Default: next to none. */
export async function startAccount({ pollSeconds = QUICK_POLL_S }: { pollSeconds?: number } = {}): Promise<Account> {
  const clock = makeClock();
  const plane = await openDoor();
  const { url } = await startPlane({ now: clock.now, pollSeconds, env: { SVC_PLANE_URL: plane.url } });
  plane.lead(url);
  const ada = await signUpFirst(plane);
  const renew = async () => ({ ...ada, cookie: cookieOf(await logInByPassword(plane, ada.email)) });
  plane.seen.length = 0;
  return {
    plane,
    ada,
    clock,
    env: makeHome(plane),
    async decide(code, decision = 'approve') {
      const { cookie } = await renew();
      const { status, body } = await decide(plane, { ...ada, cookie }, code, decision);
      await ask(plane, 'POST /api/v1/auth/logout', { cookie });
      if (status !== 200) throw new Error(`The decision was answered ${status}: ${JSON.stringify(body)}`);
    },
    async revokeAll() {
      await ask(plane, 'DELETE /api/v1/sessions', await renew());
    },
  };
}

/** Ada's command line is signed in, as by `svc login`; the door has seen nothing yet. */
export async function startSignedIn(options: { pollSeconds?: number } = {}): Promise<Account> {
  const account = await startAccount(options);
  const { plane, ada, env } = account;
  const { access_token: accessToken, refresh_token: refreshToken } = await signInCli(plane, ada);
  const tokens = { accessToken, refreshToken, expiresAt: Date.now() + 300_000 };
  writeCredentials(env, { current: plane.url, endpoints: { [plane.url]: tokens } });
  plane.seen.length = 0;
  return account;
}

/** Makes the access tokens that are kept about to end. */
export function age(env: Env): void {
  const kept = readCredentials(env);
  for (const tokens of Object.values(kept.endpoints)) tokens.expiresAt = Date.now() + 1_000;
  writeCredentials(env, kept);
}

export const credentialsOf = (env: Env) => join(env.HOME ?? '', '.config/svc/credentials.json');

export function readCredentials(env: Env): Credentials {
  return JSON.parse(readFileSync(credentialsOf(env), 'utf8')) as Credentials;
}

// --- internal ---

function writeCredentials(env: Env, credentials: Credentials): void {
  const file = credentialsOf(env);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, JSON.stringify(credentials), { mode: 0o600 });
}
