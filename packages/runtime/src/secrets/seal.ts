import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { BoxError } from '../errors.ts';

/** A value as it is stored. Binary fields are base64. */
export interface Sealed {
  v: 1;
  /** Which master key wrapped the data key. */
  kid: string;
  /** The value's own key under the master key: iv, tag and ciphertext in one. */
  wrappedKey: string;
  iv: string;
  tag: string;
  data: string;
}

/** Where a sealed value belongs. It opens there and nowhere else: a row copied to another name stays shut. */
export interface SealPlace {
  table: string;
  installation: string;
  name: string;
  version: number;
}

export interface MasterKey {
  readonly key: KeyObject;
  readonly kid: string;
}

/**
 * AES-256-GCM under a fresh key per value; that key is wrapped by the master key, so that a change of the master key
 * re-wraps keys and touches no value.
 */
export function seal(master: MasterKey, place: SealPlace, value: string): Sealed {
  const aad = formatPlace(place);
  const dataKey = randomBytes(KEY_BYTES);
  const { iv, tag, data } = encrypt(dataKey, aad, Buffer.from(value, 'utf8'));
  return {
    v: 1,
    kid: master.kid,
    wrappedKey: toWrapped(encrypt(master.key, aad, dataKey)),
    iv: iv.toString('base64'),
    tag: tag.toString('base64'),
    data: data.toString('base64'),
  };
}

/** Throws `secret_key_wrong` for a value under another master key, `secret_unreadable` for one that was changed or moved. */
export function unseal(master: MasterKey, place: SealPlace, sealed: Sealed): string {
  return open(master, place, sealed, (dataKey, aad) => {
    const box = { iv: fromBase64(sealed.iv), tag: fromBase64(sealed.tag), data: fromBase64(sealed.data) };
    return decrypt(dataKey, aad, box).toString('utf8');
  });
}

/** The same value under another master key: its data key is wrapped again, the value is not touched. Throws as `unseal`. */
export function rewrap(keys: { from: MasterKey; to: MasterKey }, place: SealPlace, sealed: Sealed): Sealed {
  const wrappedKey = open(keys.from, place, sealed, (dataKey, aad) => toWrapped(encrypt(keys.to.key, aad, dataKey)));
  return { ...sealed, kid: keys.to.kid, wrappedKey };
}

// --- internal ---

interface Box {
  iv: Buffer;
  tag: Buffer;
  data: Buffer;
}

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Readable from the right: the version is a number and holds no bar, so a bar in the name makes no two places equal. */
function formatPlace({ table, installation, name, version }: SealPlace): Buffer {
  return Buffer.from(`${table}|${installation}|${name}|${version}`, 'utf8');
}

/** Hands over the value's own key. */
function open<T>(master: MasterKey, place: SealPlace, sealed: Sealed, use: (dataKey: Buffer, aad: Buffer) => T): T {
  if (sealed.kid !== master.kid) throw wrongKey(place, sealed.kid, master.kid);
  const aad = formatPlace(place);
  try {
    const wrapped = fromBase64(sealed.wrappedKey);
    const dataKey = decrypt(master.key, aad, {
      iv: wrapped.subarray(0, IV_BYTES),
      tag: wrapped.subarray(IV_BYTES, IV_BYTES + TAG_BYTES),
      data: wrapped.subarray(IV_BYTES + TAG_BYTES),
    });
    return use(dataKey, aad);
  } catch (cause) {
    const message = `The stored value of "${place.name}" does not open: its row was changed, or copied from elsewhere. Set it again.`;
    throw new BoxError('secret_unreadable', message, { cause });
  }
}

function toWrapped({ iv, tag, data }: Box): string {
  return Buffer.concat([iv, tag, data]).toString('base64');
}

function encrypt(key: KeyObject | Buffer, aad: Buffer, plain: Buffer): Box {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES }).setAAD(aad);
  const data = Buffer.concat([cipher.update(plain), cipher.final()]);
  return { iv, tag: cipher.getAuthTag(), data };
}

function decrypt(key: KeyObject | Buffer, aad: Buffer, { iv, tag, data }: Box): Buffer {
  // The fixed tag length refuses a shortened tag, which would be easier to forge.
  const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES }).setAAD(aad).setAuthTag(tag);
  return Buffer.concat([decipher.update(data), decipher.final()]);
}

function fromBase64(text: string): Buffer {
  return Buffer.from(text, 'base64');
}

function wrongKey(place: SealPlace, sealedWith: string, kid: string): BoxError {
  const message = `SVC_SECRET_KEY does not open the stored value of "${place.name}": it was sealed with the key ${sealedWith}, this is the key ${kid}. Start with the key the box had before.`;
  return new BoxError('secret_key_wrong', message, { details: { sealedWith, kid } });
}
