import { currentRequest } from '../engine/context.ts';
import { hostOf, isLoopbackHost } from './egress.ts';
import type { EgressPolicy } from './egress.ts';

/** What an address that someone sets is held to. What a machine serves to itself is not for who asks from outside. */
export function policyToSet(url: URL, egress: EgressPolicy): EgressPolicy {
  return policyToCall(url, currentRequest()?.isTunnelled ? { ...egress, allowLoopback: false } : egress);
}

/**
 * What is held to for all that an address leads to. Only one that says itself that it is this machine leads to it: neither a
 * redirect nor another answer of its name leads one of others here.
 */
export function policyToCall(first: URL, egress: EgressPolicy): EgressPolicy {
  return egress.allowLoopback && !isLoopbackHost(hostOf(first)) ? { ...egress, allowLoopback: false } : egress;
}

/** The same as calls: what `create` makes of each of the two policies there are, by the address that is called first. */
export function createFetchFor<Call>(
  egress: EgressPolicy,
  create: (policy: EgressPolicy) => Call,
): (first: URL) => Call {
  const own = create(egress);
  const other = egress.allowLoopback ? create({ ...egress, allowLoopback: false }) : own;
  return (first) => (policyToCall(first, egress) === egress ? own : other);
}
