import { BlockList, isIP } from 'node:net';
import type { H3Event } from 'h3';

/** What may say for whom it asks. */
export interface Proxies {
  isOne(address: string): boolean;
}

/** Reads addresses and networks, as `10.0.0.7` and `172.16.0.0/12`. Undefined: one of them is none. */
export function parseProxies(entries: readonly string[]): Proxies | undefined {
  const list = new BlockList();
  list.addSubnet('127.0.0.0', 8, 'ipv4');
  list.addAddress('::1', 'ipv6');
  if (!entries.every((entry) => addNetwork(list, entry))) return undefined;
  return { isOne: (address) => list.check(address, familyOf(address)) };
}

/** Whether a text is an address or a network. */
export function isNetwork(entry: string): boolean {
  return addNetwork(new BlockList(), entry);
}

/** Whether an address is one of these, or in one of these networks. */
export function isWithin(address: string, entries: readonly string[]): boolean {
  const list = new BlockList();
  for (const entry of entries) addNetwork(list, entry);
  return isIP(address) !== 0 && list.check(address, familyOf(address));
}

/** Of this machine alone: whoever has an address of a network that is one's own may still be a caller. */
export const LOOPBACK_PROXIES = parseProxies([]) as Proxies;

/**
 * Where a request comes from: the address that has connected, or, where that is a trusted proxy, the last one in
 * `X-Forwarded-For` that is none. Of IPv6 the network, of which a caller has all the addresses. Undefined: it came over no
 * socket.
 */
export function addressOf(event: H3Event, proxies: Proxies): string | undefined {
  const address = wholeAddressOf(event, proxies);
  return address === undefined ? undefined : toNetwork(address);
}

/** The same, without its network. */
export function wholeAddressOf({ runtime, req }: H3Event, proxies: Proxies): string | undefined {
  const peer = runtime?.node?.req.socket.remoteAddress;
  return peer === undefined ? undefined : findAsker(peer, req.headers.get('x-forwarded-for'), proxies);
}

/** The whole address of who asks, as one proxy passes it to the next. `forwardedFor`: the header it came with. */
export function findAsker(peer: string, forwardedFor: string | null, proxies: Proxies): string {
  let address = withoutPrefix(peer);
  // Each proxy has put what it has seen behind what it was sent.
  const forwarded = forwardedFor?.split(',') ?? [];
  while (proxies.isOne(address)) {
    const before = withoutPrefix(forwarded.pop()?.trim() ?? '');
    if (isIP(before) === 0) break;
    address = before;
  }
  return address;
}

/** An address as callers are distinguished by it: of IPv6 the network, of which a caller has all the addresses. */
export function toCallerAddress(peer: string): string {
  return toNetwork(withoutPrefix(peer));
}

// --- internal ---

/** False: it is none. */
function addNetwork(list: BlockList, entry: string): boolean {
  const [address = '', prefix, ...more] = entry.split('/');
  const family = isIP(address);
  const longest = family === 6 ? 128 : 32;
  const bits = prefix === undefined ? longest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
  if (family === 0 || bits < 0 || bits > longest || more.length > 0) return false;
  list.addSubnet(address, bits, familyOf(address));
  return true;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

function withoutPrefix(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

function toNetwork(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const gap = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array.from({ length: gap }, () => '0'), ...last];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
