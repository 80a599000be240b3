import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Hands values to clients that must come back as they are, and that no other party may read or make. */
export interface StateSeal {
  seal(value: unknown): Promise<string>;
  /** Undefined for a text this seal did not write, or that was changed. */
  open(text: string): Promise<unknown>;
}

/** AES-256-GCM: what is sealed opens under the same key, for the same purpose. Written as `v1.<iv>.<box>`. */
export function createStateSeal(purpose: string, readKey: () => Promise<Buffer>): StateSeal {
  const aad = Buffer.from(`${VERSION}|${purpose}`, 'utf8');
  return {
    async seal(value) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, await readKey(), iv, { authTagLength: TAG_BYTES }).setAAD(aad);
      const data = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${VERSION}.${iv.toString('base64url')}.${data.toString('base64url')}`;
    },
    async open(text) {
      const [, ivText = '', boxText = ''] = SEALED.exec(text) ?? [];
      const iv = Buffer.from(ivText, 'base64url');
      const box = Buffer.from(boxText, 'base64url');
      if (iv.length !== IV_BYTES || box.length <= TAG_BYTES) return undefined;
      // The last letter has bits that stand for nothing: with others it is another text of the same bytes.
      if (iv.toString('base64url') !== ivText || box.toString('base64url') !== boxText) return undefined;
      const key = await readKey();
      try {
        const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES })
          .setAAD(aad)
          .setAuthTag(box.subarray(-TAG_BYTES));
        const plain = Buffer.concat([decipher.update(box.subarray(0, -TAG_BYTES)), decipher.final()]);
        return JSON.parse(plain.toString('utf8'));
      } catch {
        return undefined;
      }
    },
  };
}

// --- internal ---

const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** A secret that is to be stored may be in it. */
const SEALED = /^v1\.([\w-]{1,64})\.([\w-]{1,131072})$/;
