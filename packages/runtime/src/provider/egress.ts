import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { BoxError } from '../errors.ts';

export interface EgressPolicy {
  /** Loopback may be called: in dev, for a model server on the same machine. */
  allowLoopback: boolean;
  /** Hosts or addresses that may be called although they are private (`SVC_ALLOW_PRIVATE_EGRESS`). */
  allowed: readonly string[];
}

/** Link-local addresses, cloud metadata among them, are refused whatever is allowed. */
const NEVER = blockList([
  ['169.254.0.0', 16, 'ipv4'],
  ['fe80::', 10, 'ipv6'],
  ['fd00:ec2::254', 128, 'ipv6'],
]);

const LOOPBACK = blockList([
  ['127.0.0.0', 8, 'ipv4'],
  ['::1', 128, 'ipv6'],
]);

const PRIVATE = blockList([
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['fc00::', 7, 'ipv6'],
  ['::', 128, 'ipv6'],
]);

/** Throws `provider_url_invalid` when a caller-given address points where the box must not reach. */
export async function checkEgress(url: URL, policy: EgressPolicy): Promise<void> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) ? [host] : await resolveHost(host);
  for (const address of addresses) {
    const reason = refusalOf(address, host, policy);
    if (reason)
      throw new BoxError(
        'provider_url_invalid',
        `"${host}" is ${reason}. Set it in the environment, or list it in SVC_ALLOW_PRIVATE_EGRESS.`,
      );
  }
}

// --- internal ---

function refusalOf(address: string, host: string, policy: EgressPolicy): string | undefined {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
  if (NEVER.check(plain, family)) return 'a link-local address';
  if (policy.allowed.includes(host) || policy.allowed.includes(plain)) return undefined;
  if (LOOPBACK.check(plain, family)) return policy.allowLoopback ? undefined : 'a loopback address';
  return PRIVATE.check(plain, family) ? 'a private address' : undefined;
}

async function resolveHost(host: string): Promise<string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch {
    throw new BoxError('provider_url_invalid', `The name "${host}" does not resolve.`);
  }
}

function blockList(subnets: [string, number, 'ipv4' | 'ipv6'][]): BlockList {
  const list = new BlockList();
  for (const [address, prefix, family] of subnets) list.addSubnet(address, prefix, family);
  return list;
}
