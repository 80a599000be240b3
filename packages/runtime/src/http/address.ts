import { isIP } from 'node:net';
import type { H3Event } from 'h3';

/**
 * Where a request comes from: the address that has connected, or what a proxy beside the box says stands behind it. Of
 * IPv6 the network, of which a caller has all the addresses. Undefined: it came over no socket.
 */
export function addressOf({ runtime, req }: H3Event): string | undefined {
  const peer = runtime?.node?.req.socket.remoteAddress;
  if (peer === undefined) return undefined;
  const plain = withoutPrefix(peer);
  // The last one is what the proxy itself has seen; what stands before it is what it was sent.
  const forwarded = NEAR.test(plain) ? req.headers.get('x-forwarded-for')?.split(',').at(-1)?.trim() : undefined;
  return toNetwork(forwarded !== undefined && isIP(forwarded) !== 0 ? withoutPrefix(forwarded) : plain);
}

// --- internal ---

/** Of this machine, or of a network that is one's own: who calls a published port from elsewhere has no such address. */
const NEAR = /^(?:127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|::1$|f[cd])/i;

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
