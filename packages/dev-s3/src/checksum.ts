import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

export const CHECKSUM_ALGORITHMS = ['crc32', 'crc32c', 'crc64nvme', 'sha1', 'sha256'] as const;
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];

/** A checksum as S3 writes it: big-endian bytes in base64. */
export interface Checksum {
  algorithm: ChecksumAlgorithm;
  value: string;
}

/** Takes bytes as they pass; `digest` is called once, at the end. */
export interface Digester {
  update(chunk: Uint8Array): void;
  digest(): string;
}

export function createDigester(algorithm: ChecksumAlgorithm): Digester {
  return DIGESTERS[algorithm]();
}

/** `x-amz-checksum-crc32` to `crc32`; undefined for any other name. */
export function toChecksumAlgorithm(header: string): ChecksumAlgorithm | undefined {
  return CHECKSUM_ALGORITHMS.find((algorithm) => header === checksumHeader(algorithm));
}

export function checksumHeader(algorithm: ChecksumAlgorithm): string {
  return `x-amz-checksum-${algorithm}`;
}

// --- internal ---

const DIGESTERS: Record<ChecksumAlgorithm, () => Digester> = {
  crc32: createCrc32,
  crc32c: createCrc32c,
  crc64nvme: createCrc64,
  sha1: () => createCryptoDigester('sha1'),
  sha256: () => createCryptoDigester('sha256'),
};

function createCryptoDigester(name: string): Digester {
  const hash = createHash(name);
  return { update: (chunk) => void hash.update(chunk), digest: () => hash.digest('base64') };
}

function createCrc32(): Digester {
  let value = 0;
  return {
    update(chunk) {
      value = crc32(chunk, value);
    },
    digest: () => formatWords(value),
  };
}

function createCrc32c(): Digester {
  const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
    return value;
  });
  let value = 0xffffffff;
  return {
    update(chunk) {
      let crc = value;
      for (let index = 0; index < chunk.length; index++) {
        crc = (crc >>> 8) ^ (table[(crc ^ (chunk[index] as number)) & 0xff] as number);
      }
      value = crc;
    },
    digest: () => formatWords(~value),
  };
}

// CRC-64/NVME in two 32-bit halves: bigint arithmetic per byte would be a hundred times slower.
function createCrc64(): Digester {
  const { high, low } = createCrc64Tables();
  let valueHigh = 0xffffffff;
  let valueLow = 0xffffffff;
  return {
    update(chunk) {
      let crcHigh = valueHigh;
      let crcLow = valueLow;
      for (let index = 0; index < chunk.length; index++) {
        const slot = (crcLow ^ (chunk[index] as number)) & 0xff;
        crcLow = ((crcLow >>> 8) | (crcHigh << 24)) ^ (low[slot] as number);
        crcHigh = (crcHigh >>> 8) ^ (high[slot] as number);
      }
      valueHigh = crcHigh;
      valueLow = crcLow;
    },
    digest: () => formatWords(~valueHigh, ~valueLow),
  };
}

function createCrc64Tables(): { high: Uint32Array; low: Uint32Array } {
  const high = new Uint32Array(256);
  const low = new Uint32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let entryHigh = 0;
    let entryLow = byte;
    for (let bit = 0; bit < 8; bit++) {
      const odd = entryLow & 1;
      entryLow = ((entryLow >>> 1) | (entryHigh << 31)) ^ (odd ? 0xac4bc9b5 : 0);
      entryHigh = (entryHigh >>> 1) ^ (odd ? 0x9a6c9329 : 0);
    }
    high[byte] = entryHigh;
    low[byte] = entryLow;
  }
  return { high, low };
}

function formatWords(...words: number[]): string {
  const bytes = Buffer.alloc(words.length * 4);
  words.forEach((word, index) => bytes.writeUInt32BE(word >>> 0, index * 4));
  return bytes.toString('base64');
}
