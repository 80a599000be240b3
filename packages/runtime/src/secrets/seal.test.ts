import { createSecretKey, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { seal, unseal } from './seal.ts';
import type { MasterKey, Sealed } from './seal.ts';

const master = createKey('0123456789abcdef');
const place = { table: 'secrets', installation: 'i-1', name: 'system/token', version: 3 };

describe('a sealed value', () => {
  it.each(['', 'plain', 'ü € 🙂', 'x'.repeat(100_000)])('opens where it belongs (%#)', (value) => {
    expect(unseal(master, place, seal(master, place, value))).toBe(value);
  });

  it('has the stored form, with a fresh key and a fresh iv each time', () => {
    const [one, two] = [seal(master, place, 'same'), seal(master, place, 'same')];
    expect(one).toMatchObject({ v: 1, kid: master.kid });
    expect(Buffer.from(one.iv, 'base64')).toHaveLength(12);
    expect(Buffer.from(one.tag, 'base64')).toHaveLength(16);
    expect(Buffer.from(one.wrappedKey, 'base64')).toHaveLength(12 + 16 + 32);
    for (const field of ['wrappedKey', 'iv', 'tag', 'data'] as const) expect(one[field]).not.toBe(two[field]);
  });

  it.each([{ table: 'settings' }, { installation: 'i-2' }, { name: 'system/other' }, { version: 4 }])(
    'does not open in another place: %j',
    (moved) => {
      const sealed = seal(master, place, 'value');
      expect(() => unseal(master, { ...place, ...moved }, sealed)).toThrow('does not open: its row was changed');
    },
  );

  it.each(['wrappedKey', 'iv', 'tag', 'data'] as const)('does not open when its %s was changed', (field) => {
    const sealed = seal(master, place, 'value');
    const bytes = Buffer.from(sealed[field], 'base64');
    bytes[0] = (bytes[0] ?? 0) ^ 1;
    const changed: Sealed = { ...sealed, [field]: bytes.toString('base64') };
    expect(() => unseal(master, place, changed)).toThrow('does not open: its row was changed');
  });

  it('does not open with a shortened tag', () => {
    const sealed = seal(master, place, 'value');
    const tag = Buffer.from(sealed.tag, 'base64').subarray(0, 4).toString('base64');
    expect(() => unseal(master, place, { ...sealed, tag })).toThrow('does not open: its row was changed');
  });

  it('names SVC_SECRET_KEY when it was sealed with another master key', () => {
    const sealed = seal(createKey('fedcba9876543210'), place, 'value');
    expect(() => unseal(master, place, sealed)).toThrow(
      /^SVC_SECRET_KEY does not open .* key fedcba9876543210, this is the key 0123456789abcdef/,
    );
  });
});

function createKey(kid: string): MasterKey {
  return { key: createSecretKey(randomBytes(32)), kid };
}
