import { BoxError } from '../errors.ts';
import type { Resolved } from './resolve.ts';

/** What an operator sends as the credential of a connection. Which members it needs is up to how the service knows its callers. */
export interface GivenCredential {
  apiKey?: string | undefined;
  username?: string | undefined;
  password?: string | undefined;
  clientSecret?: string | undefined;
  accessToken?: string | undefined;
  refreshToken?: string | undefined;
  expiresIn?: number | undefined;
}

/** Throws `connection_invalid`. */
export function toCredential({ connectionId, auth, per, title }: Resolved, given: GivenCredential) {
  const { apiKey, username, password, clientSecret, accessToken, refreshToken, expiresIn } = given;
  const allowed = ALLOWED[auth];
  const names = Object.keys(given).filter((name) => given[name as keyof GivenCredential] !== undefined);
  const wrong = names.find((name) => !allowed.includes(name));
  const say = (why: string): BoxError =>
    new BoxError('connection_invalid', `${why} The credential of a connection by ${auth} has: ${allowed.join(', ')}.`, {
      details: { connection: connectionId, members: allowed },
    });
  if (wrong !== undefined) throw say(`${title} does not know its callers by "${wrong}" here.`);
  if (names.length === 0) throw say('There is no credential in it.');
  if (auth === 'basic' && (username === undefined || password === undefined)) throw say('One of the two is missing.');
  if (per === 'user' && accessToken !== undefined) throw say('Each user signs in: no token is set for all.');
  if (accessToken === undefined && (refreshToken !== undefined || expiresIn !== undefined))
    throw say('"accessToken" is missing.');
  const expiresAt = expiresIn === undefined ? null : new Date(Date.now() + expiresIn * 1_000);
  const optional = refreshToken === undefined ? {} : { refresh: refreshToken };
  // With its own credential such a client asks for a token whenever it needs one.
  const isClientAlone = auth === 'client_credentials' && clientSecret !== undefined;
  const credential =
    auth === 'api_key'
      ? { key: apiKey! }
      : auth === 'basic'
        ? { username: username!, password: password! }
        : accessToken !== undefined
          ? { access: accessToken, ...optional, expiresAt }
          : isClientAlone
            ? {}
            : undefined;
  return { clientSecret, credential };
}

// --- internal ---

const ALLOWED: Record<Resolved['auth'], string[]> = {
  api_key: ['apiKey'],
  basic: ['username', 'password'],
  client_credentials: ['clientSecret'],
  oauth2: ['clientSecret', 'accessToken', 'refreshToken', 'expiresIn'],
};
