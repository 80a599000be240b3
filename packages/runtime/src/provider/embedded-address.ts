import { isIPv6 } from 'node:net';

/** An address without its zone; the IPv4 one that a mapped address (`::ffff:…`) is another spelling of. */
export function toPlain(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return plain;
  const bytes = toBytes(plain);
  return startsWith(bytes, MAPPED) ? toText(bytes.slice(12)) : plain;
}

/** The IPv4 addresses an IPv6 address carries, which a gateway on the way may lead to. */
export function listEmbedded(address: string): string[] {
  if (!isIPv6(address)) return [];
  const bytes = toBytes(address);
  return CARRIERS.filter(({ prefix }) => startsWith(bytes, prefix)).flatMap(({ places }) =>
    places.map((place) => toText(place.map((index) => bytes[index] ?? 0))),
  );
}

// --- internal ---

interface Carrier {
  prefix: readonly number[];
  /** Where the four bytes stand. */
  places: readonly number[][];
}

const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255];
const TAIL = [12, 13, 14, 15];

const CARRIERS: readonly Carrier[] = [
  // ::/96, IPv4-compatible
  { prefix: Array.from<number>({ length: 12 }).fill(0), places: [TAIL] },
  // ::ffff:0:0:0/96, SIIT
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0], places: [TAIL] },
  // 64:ff9b::/96, NAT64
  { prefix: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0], places: [TAIL] },
  // 64:ff9b:1::/48, NAT64 of a network: where they stand is by the length of its prefix (RFC 6052); byte 8 is left out
  {
    prefix: [0, 0x64, 0xff, 0x9b, 0, 1],
    places: [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], TAIL],
  },
  // 2002::/16, 6to4
  { prefix: [0x20, 0x02], places: [[2, 3, 4, 5]] },
];

function startsWith(bytes: readonly number[], prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => bytes[index] === byte);
}

function toText(bytes: readonly number[]): string {
  return bytes.join('.');
}

/** The 16 bytes of an IPv6 address. */
function toBytes(address: string): number[] {
  // In its one spelling: lower case, the IPv4 part in hex, the longest run of zeros left out.
  const spelled = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = spelled.split('::');
  const [before, after] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array.from<string>({ length: 8 - (before?.length ?? 0) - (after?.length ?? 0) }).fill('0');
  return [...(before ?? []), ...zeros, ...(after ?? [])].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}
