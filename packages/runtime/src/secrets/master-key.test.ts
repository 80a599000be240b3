import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadMasterKey } from './master-key.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-key-'));
  file = join(folder, '.svc', 'secret.key');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the master key', () => {
  it('comes from SVC_SECRET_KEY, and no file is made', async () => {
    const bytes = randomBytes(32);
    const { key, kid } = await loadMasterKey({ value: bytes.toString('base64'), file });
    expect(key.export()).toEqual(bytes);
    expect(kid).toBe(createHash('sha256').update(bytes).digest().subarray(0, 8).toString('hex'));
    expect(existsSync(file)).toBe(false);
  });

  it('is made once, readable by its owner alone, and is the same at the next start', async () => {
    const first = await loadMasterKey({ value: undefined, file });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(Buffer.from(readFileSync(file, 'utf8'), 'base64')).toHaveLength(32);
    expect((await loadMasterKey({ value: '', file })).kid).toBe(first.kid);
  });

  it('is one and the same for boxes that make it at once, and leaves no drafts', async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => loadMasterKey({ value: undefined, file })));
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(1);
    expect(readdirSync(join(folder, '.svc'))).toEqual(['secret.key']);
  });

  it.each(['short', randomBytes(31).toString('base64'), randomBytes(32).toString('hex'), `${'é'.repeat(44)}`])(
    'is refused unless it is 32 bytes in base64, with the command that makes one: %j',
    async (value) => {
      const load = loadMasterKey({ value, file });
      await expect(load).rejects.toMatchObject({ code: 'secret_key_invalid' });
      await expect(load).rejects.toThrow('SVC_SECRET_KEY is not 32 bytes in base64. Make one: openssl rand -base64 32');
    },
  );

  it('is refused from a damaged file, which is left as it is', async () => {
    await loadMasterKey({ value: undefined, file });
    writeFileSync(file, 'damaged');
    const load = loadMasterKey({ value: undefined, file });
    await expect(load).rejects.toMatchObject({ code: 'secret_key_invalid' });
    await expect(load).rejects.toThrow(`The key in "${file}"`);
    expect(readFileSync(file, 'utf8')).toBe('damaged');
  });

  it('is asked for by name where no file may stand in', async () => {
    const load = loadMasterKey({ value: undefined, file: undefined });
    await expect(load).rejects.toMatchObject({ code: 'secret_key_missing' });
    await expect(load).rejects.toThrow(/^SVC_SECRET_KEY is missing\. .* openssl rand -base64 32$/);
  });
});
