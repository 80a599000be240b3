/**
 * A generator seeded by 128 bits of hex (the run's trace id): the same run draws the same numbers on every replay.
 * The algorithm is sfc32 (Chris Doty-Humphrey's small fast counter, public domain).
 */
export function createRandom(seedHex: string): () => number {
  let a = word(seedHex, 0);
  let b = word(seedHex, 8);
  let c = word(seedHex, 16);
  let counter = word(seedHex, 24);
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 4294967296;
  };
  for (let warm = 0; warm < 12; warm++) next();
  return next;
}

/** A version 4 uuid drawn from `random`. */
export function randomUuid(random: () => number): `${string}-${string}-${string}-${string}-${string}` {
  const bytes = new Uint8Array(16);
  fillRandom(bytes, random);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Buffer.from(bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function fillRandom(bytes: Uint8Array, random: () => number): void {
  for (let index = 0; index < bytes.length; index++) bytes[index] = Math.floor(random() * 256);
}

// --- internal ---

function word(hex: string, at: number): number {
  return Number.parseInt(hex.slice(at, at + 8), 16) | 0;
}
