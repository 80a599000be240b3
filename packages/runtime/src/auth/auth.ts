import type { Limiter } from '../limits/limiter.ts';
import type { CountingKv } from '../stores/kv-counting.ts';
import { requireGrant, requirePermission, toUser } from './caller.ts';
import type { Caller } from './caller.ts';
import { isApiKey, needCredentials, readCredential } from './credential.ts';
import type { Credential } from './credential.ts';
import type { Audience } from './identity-tokens.ts';
import type { Strategy } from './strategy.ts';
import { USER_ID } from './user-tokens.ts';
import type { UserTokens } from './user-tokens.ts';
import { currentRequest } from '../engine/context.ts';
import { BoxError } from '../errors.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import { isWithin } from '../http/address.ts';
import { createGuesses } from './guesses.ts';

/** The one place where a request becomes a caller. */
export interface Auth {
  /** Throws `unauthorized`, and `rate_limited`. */
  authenticate(headers: Headers, audience?: Audience): Promise<Caller>;
  /**
   * For the chat wires: some key is needed on any box. Clients of theirs may send two credentials, and either may be the
   * key. Throws `unauthorized` and `rate_limited`, and `forbidden` for an agent that is not granted, or a person whose
   * role may not chat. The copilot is for every person, and for no key.
   */
  authorize(headers: Headers, agent?: string): Promise<Caller>;
}

/** What knows the API keys: a room above. */
export interface KeyVerifier {
  /** Who holds the key. Throws `unauthorized` when it is unknown, revoked or expired. */
  verify(value: string): Promise<Caller>;
  /** Whether the box has made any key, good or not. */
  hasAny(): Promise<boolean>;
}

export interface AuthOptions {
  strategy: Strategy;
  keys: KeyVerifier;
  users: UserTokens;
  limiter: Pick<Limiter, 'admit'>;
  /** Where wrong credentials are counted. */
  kv: Pick<CountingKv, 'increment'>;
}

export function createAuth({ strategy, keys, users, limiter, kv }: AuthOptions): Auth {
  const guesses = createGuesses({ kv });
  const authenticateOther = async (credential: string | undefined, audience: Audience): Promise<Caller> => {
    const address = credential === undefined || !strategy.isOneToken ? undefined : currentRequest()?.address?.();
    if (address === undefined) return strategy.authenticate(credential, audience);
    try {
      return await strategy.authenticate(credential, audience);
    } catch (error) {
      await guesses.wrong(address);
      throw error;
    }
  };
  const identify = async (credential: Credential | undefined, audience: Audience): Promise<Caller> => {
    const value = credential?.value;
    if (value !== undefined && isApiKey(value) && (strategy.checksKeys || (await keys.hasAny())))
      return requireAddress(await keys.verify(value));
    if (credential?.isBearer === false && strategy.checksKeys) throw notAKey();
    // Also where nothing else is checked: the page under development is to see what it will see.
    if (value !== undefined && users.isOne(value)) return users.verify(value);
    return authenticateOther(value, audience);
  };
  const admit = async (caller: Caller): Promise<Caller> => {
    if (caller.limited) await limiter.admit(caller.limited);
    return caller;
  };
  const identifyAny = async ([first, ...others]: readonly Credential[]): Promise<Caller> => {
    try {
      return await identify(first, 'box');
    } catch (error) {
      if (others.length === 0) throw error;
      return identifyAny(others).catch(() => Promise.reject(error));
    }
  };
  return {
    authenticate: async (headers, audience = 'box') =>
      admit(letIn(await identify(readCredential(headers), audience), headers)),
    async authorize(headers, agent) {
      const caller = await admit(letIn(await identifyAny(needCredentials(headers)), headers));
      if (agent === COPILOT_AGENT) requirePermission(caller, 'copilot:use');
      else if (caller.role !== null) requirePermission(caller, 'agents:chat');
      if (agent !== undefined) requireGrant(caller, 'agents', agent);
      return caller;
    },
  };
}

// --- internal ---

const USER_HEADER = 'x-svc-user';

function notAKey(): BoxError {
  const advice = 'Send any other credential as "Authorization: Bearer <credential>".';
  return new BoxError('unauthorized', `The header "x-api-key" takes an API key of this box alone. ${advice}`);
}

/** Throws `address_not_allowed`, to the key itself: what it may do elsewhere is nothing. */
function requireAddress(caller: Caller): Caller {
  if (!caller.addresses) return caller;
  const request = currentRequest();
  const from = request?.wholeAddress?.();
  if (from !== undefined && isWithin(from, caller.addresses)) return caller;
  if (request) request.caller = caller;
  const message = `The ${caller.name} may not be used from ${from === undefined ? 'where this request comes from' : `"${from}"`}.`;
  throw new BoxError('address_not_allowed', `${message} An owner or admin can add the address to its "addresses".`);
}

/** As whoever it speaks for. What the request is refused from here on is refused to it. */
function letIn(caller: Caller, headers: Headers): Caller {
  const request = currentRequest();
  if (request) request.caller = caller;
  const speaking = speakFor(caller, headers);
  if (request) request.caller = speaking;
  return speaking;
}

/** The user the caller speaks for, where it names one. Throws `users_not_granted`, `invalid_request`. */
function speakFor(caller: Caller, headers: Headers): Caller {
  const id = headers.get(USER_HEADER);
  if (id === null) return caller;
  if (!caller.hasUsers) throw notGranted(caller);
  if (!USER_ID.test(id))
    throw new BoxError('invalid_request', `The header "${USER_HEADER}" must have 1 to 256 visible characters.`);
  return toUser(caller, { id });
}

function notGranted({ name, kind }: Caller): BoxError {
  const advice = kind === 'key' ? 'Make a key with "users": true, or leave the header out.' : 'Leave the header out.';
  return new BoxError('users_not_granted', `The ${name} may not speak for users ("${USER_HEADER}"). ${advice}`);
}
