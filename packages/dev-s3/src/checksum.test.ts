import { expect, test } from 'vitest';

import { createDigester } from './checksum.ts';

// The check values of the CRC catalogue, and of FIPS 180 tools, for "123456789".
test.each([
  ['crc32', 'cbf43926'],
  ['crc32c', 'e3069283'],
  ['crc64nvme', 'ae8b14860a799888'],
  ['sha1', 'f7c3bc1d808e04732adf679965ccc34ca7ae3441'],
  ['sha256', '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225'],
] as const)('%s has its known check value, in one piece or several', (algorithm, hex) => {
  for (const pieces of [['123456789'], ['1234', '', '56789']]) {
    const digester = createDigester(algorithm);
    for (const piece of pieces) digester.update(Buffer.from(piece));
    expect(Buffer.from(digester.digest(), 'base64').toString('hex')).toBe(hex);
  }
});
