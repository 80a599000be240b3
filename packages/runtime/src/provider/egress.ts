import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { BlockList, isIP } from 'node:net';
import { BoxError } from '../errors.ts';
import { listEmbedded, toPlain } from './embedded-address.ts';

export interface EgressPolicy {
  /** Loopback may be called: in dev, for a model server on the same machine. */
  allowLoopback: boolean;
  /** Hosts or addresses that may be called although they are private (`SVC_ALLOW_PRIVATE_EGRESS`). */
  allowed: readonly string[];
  /** Private networks may be called, and only what else is no address of one machine out there is refused. */
  allowPrivate?: boolean;
  /** What a connection that is refused fails with. Default: `model_provider_failed`. */
  refuse?(what: string): Error;
}

/** Link-local addresses and those of a cloud's metadata are refused whatever is allowed. */
const NEVER = blockList([
  ['169.254.0.0', 16, 'ipv4'],
  // Azure's, which answers from every virtual machine.
  ['168.63.129.16', 32, 'ipv4'],
  ['fe80::', 10, 'ipv6'],
  ['fd00:ec2::254', 128, 'ipv6'],
]);

const LOOPBACK = blockList([
  ['127.0.0.0', 8, 'ipv4'],
  ['::1', 128, 'ipv6'],
]);

/** Networks of an organisation. */
const NETWORKS = blockList([
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['fc00::', 7, 'ipv6'],
]);

/** These, and what is no address of one machine out there. */
const PRIVATE = blockList([
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['fc00::', 7, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
  // Addresses that carry another one, which a gateway may lead to.
  ['::', 96, 'ipv6'],
  ['::ffff:0:0:0', 96, 'ipv6'],
  ['64:ff9b::', 96, 'ipv6'],
  ['64:ff9b:1::', 48, 'ipv6'],
  ['2001::', 32, 'ipv6'],
  ['2002::', 16, 'ipv6'],
]);

/** Why the box must not call the address a caller gave; undefined: it may. */
export async function findRefusal(url: URL, policy: EgressPolicy): Promise<string | undefined> {
  const host = hostOf(url);
  const addresses = await resolveHost(host);
  const refusal = addresses ? explainRefusal(addresses, host, policy) : explainUnknown(host, policy);
  if (!addresses && refusal === undefined) return `The name "${host}" does not resolve.`;
  return refusal && `${refusal}. ${ADVICE}`;
}

/** The same without what to do about it. With `letsUnknown`, a name that does not resolve is let be; default: refused. */
export async function findPrivate(
  url: URL,
  policy: EgressPolicy,
  { letsUnknown = false } = {},
): Promise<string | undefined> {
  const host = hostOf(url);
  const addresses = await resolveHost(host);
  const refusal = addresses ? explainRefusal(addresses, host, policy) : explainUnknown(host, policy);
  if (addresses || refusal !== undefined) return refusal;
  return letsUnknown ? undefined : `"${host}" does not resolve`;
}

/** Whether a host says itself that it is this machine, however it spells that: not whether a name happens to lead there. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/\.$/, '').toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost')) return true;
  const plain = toPlain(host);
  return isIP(plain) !== 0 && LOOPBACK.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4');
}

/** The host of an address, an IPv6 one without its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** Throws `provider_url_invalid` when a caller-given address points where the box must not reach. */
export async function checkEgress(url: URL, policy: EgressPolicy): Promise<void> {
  const refusal = await findRefusal(url, policy);
  if (refusal !== undefined) throw new BoxError('provider_url_invalid', refusal);
}

/** Throws what the policy refuses with for a literal address; names are for the lookup to refuse. */
export function requireLiteral(url: URL, policy: EgressPolicy): void {
  const host = hostOf(url);
  const refusal = isIP(host) ? explainRefusal([{ address: host }], host, policy) : undefined;
  if (refusal !== undefined) throw toFailure(refusal, policy);
}

/**
 * Resolves a name for a connection, and refuses it as the policy does when any of its addresses may not be called. What is connected to is what was checked: a name that answers differently the next time gains nothing.
 */
export function createLookup(policy: EgressPolicy): LookupFunction {
  return (host, options, answer) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      const refusal = error ? undefined : explainRefusal(addresses, host, policy);
      const failure = error ?? (refusal === undefined ? null : toFailure(refusal, policy));
      const [first] = addresses ?? [];
      if (failure || !first) return answer(failure, options.all ? [] : '', 0);
      if (options.all) answer(null, addresses);
      else answer(null, first.address, first.family);
    });
  };
}

// --- internal ---

const ADVICE = 'Set it in the environment, or list it in SVC_ALLOW_PRIVATE_EGRESS.';

function toFailure(refusal: string, { refuse }: EgressPolicy): Error {
  return refuse?.(refusal) ?? new BoxError('model_provider_failed', `${refusal}. ${ADVICE}`);
}

async function resolveHost(host: string): Promise<{ address: string }[] | undefined> {
  return isIP(host) ? [{ address: host }] : await resolve(host).catch(() => undefined);
}

function explainRefusal(
  addresses: readonly { address: string }[],
  host: string,
  policy: EgressPolicy,
): string | undefined {
  for (const { address } of addresses) {
    const reason = refusalOf(address, host, policy);
    if (reason) return `"${host}" is ${reason}`;
  }
  return undefined;
}

/** Not every resolver knows the names of this machine; whoever resolves them elsewhere would come to it. */
function explainUnknown(host: string, { allowLoopback, allowed }: EgressPolicy): string | undefined {
  return isLoopbackHost(host) && !allowLoopback && !allowed.includes(host)
    ? `"${host}" is a loopback address`
    : undefined;
}

function refusalOf(address: string, host: string, policy: EgressPolicy): string | undefined {
  const plain = toPlain(address);
  const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
  if (NEVER.check(plain, family)) return 'a link-local address';
  // Before the list: what is on it is an address, not what a gateway makes of it.
  if (listEmbedded(plain).some((inner) => NEVER.check(inner, 'ipv4'))) return 'a way to a link-local address';
  if (policy.allowed.includes(host) || policy.allowed.includes(plain)) return undefined;
  if (LOOPBACK.check(plain, family)) return policy.allowLoopback ? undefined : 'a loopback address';
  if (policy.allowPrivate && NETWORKS.check(plain, family)) return undefined;
  return PRIVATE.check(plain, family) ? 'a private address' : undefined;
}

function resolve(host: string): Promise<LookupAddress[]> {
  return new Promise((done, fail) => {
    lookup(host, { all: true }, (error, addresses) => (error ? fail(error) : done(addresses)));
  });
}

function blockList(subnets: [string, number, 'ipv4' | 'ipv6'][]): BlockList {
  const list = new BlockList();
  for (const [address, prefix, family] of subnets) list.addSubnet(address, prefix, family);
  return list;
}
