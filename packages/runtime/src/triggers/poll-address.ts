import { createGuardedFetch } from '../connections/guarded-fetch.ts';
import type { GuardedFetch } from '../connections/guarded-fetch.ts';
import { currentRequest } from '../engine/context.ts';
import { BoxError } from '../errors.ts';
import { findPrivate, hostOf, isLoopbackHost } from '../provider/egress.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import type { Poll } from './poll-settings.ts';

/**
 * Throws `trigger_invalid` for an address that a poll must not ask. A name is resolved; one that is not known yet is let be: it is
 * looked at again whenever it is asked.
 */
export async function requirePollAddress({ url: text }: Poll, egress: EgressPolicy): Promise<void> {
  // A path goes where its connection does.
  if (!URL.canParse(text)) return;
  const url = new URL(text);
  const host = hostOf(url);
  const isLocal = isLoopbackHost(host);
  // What a machine serves to itself is not for who asks from outside.
  const allowLoopback = egress.allowLoopback && isLocal && !currentRequest()?.isTunnelled;
  const refusal =
    isLocal && !allowLoopback && !egress.allowed.includes(host)
      ? `"${host}" is a loopback address`
      : await findPrivate(url, { ...egress, allowLoopback }, { letsUnknown: true });
  if (refusal === undefined) return;
  const message = `${refusal}. List it in SVC_ALLOW_PRIVATE_EGRESS to let the box call it.`;
  throw new BoxError('trigger_invalid', message, { details: { param: 'poll' } });
}

/** What a poll of this address is asked with: neither a redirect nor another answer of a name leads one of others to this machine. */
export function createPollFetch(egress: EgressPolicy): (first: URL) => GuardedFetch {
  const local = createGuardedFetch(egress);
  const other = egress.allowLoopback ? createGuardedFetch({ ...egress, allowLoopback: false }) : local;
  return (first) => (isLoopbackHost(hostOf(first)) ? local : other);
}
