import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createEncodedSecrets } from './encoded-secrets.ts';

test.each(['sk_live_0123456789', 'pässwörd~~~???', '\u{1F511}\u{1F511}\u{1F511}'])(
  '"%s" is found wherever it stands in what was encoded',
  (secret) => {
    const secrets = createEncodedSecrets();
    secrets.add('another-secret-of-the-box');
    secrets.add(secret);
    for (const encoding of ['base64', 'base64url'] as const)
      for (let before = 0; before < 7; before++)
        for (let after = 0; after < 4; after++) {
          const plain = `${'b'.repeat(before)}${secret}${'a'.repeat(after)}`;
          const encoded = Buffer.from(plain).toString(encoding);
          const shown = secrets.hide(`key ${encoded}, ${encoded}.`, '[hidden]');
          expect(shown).toMatch(/^key .{0,12}\[hidden\].{0,12}, .{0,12}\[hidden\].{0,12}\.$/);
          // What is left at the ends is not enough to make anything of it.
          expect(Buffer.from(shown.replaceAll('[hidden]', ''), encoding).toString()).not.toContain(secret.slice(2, -2));
        }
  },
);

test('other text stays as it is, and a short secret is not looked for', () => {
  const secrets = createEncodedSecrets();
  secrets.add('12345678');
  for (const text of ['', 'short', randomBytes(500).toString('base64'), Buffer.from('12345678').toString('base64')])
    expect(secrets.hide(text, '[hidden]')).toBe(text);
});
