import { createHash } from 'node:crypto';

/**
 * The file name of a key: one name in one folder, whatever the key holds. Lower-case letters, digits, `-`, `_` and
 * inner dots stay readable; every other byte is `%xx`, upper-case letters too, so keys that differ in case stay apart
 * on a file system that folds it. A key too long for a name ends in `~` and its hash.
 */
export function toFileName(key: string): string {
  let name = '';
  for (const byte of Buffer.from(key, 'utf8')) name += encodeByte(byte, name.length === 0);
  if (name.length <= MAX_NAME) return name;
  const hash = createHash('sha256').update(key, 'utf8').digest('hex');
  return `${name.slice(0, MAX_NAME - hash.length - 1)}~${hash}`;
}

/** The key of a file name, or `unreadable` when only the file itself knows it, or undefined for a foreign file. */
export function fromFileName(name: string): { key: string } | 'unreadable' | undefined {
  if (/^[a-z0-9_.%-]+~[0-9a-f]{64}$/.test(name)) return 'unreadable';
  if (!/^(?!\.)(?:[a-z0-9_.-]|%[0-9a-f]{2})+$/.test(name)) return undefined;
  try {
    return { key: decodeURIComponent(name) };
  } catch {
    return undefined;
  }
}

/** Orders keys by their UTF-8 bytes, as S3 does. JavaScript's own order differs beyond U+FFFF. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const unitA = a.charCodeAt(index);
    const unitB = b.charCodeAt(index);
    if (unitA !== unitB) return toRank(unitA) - toRank(unitB);
  }
  return a.length - b.length;
}

// --- internal ---

// File systems take names of 255 bytes.
const MAX_NAME = 200;

function encodeByte(byte: number, isFirst: boolean): string {
  const character = String.fromCharCode(byte);
  const isPlain = /[a-z0-9_-]/.test(character) || (character === '.' && !isFirst);
  return isPlain ? character : `%${byte.toString(16).padStart(2, '0')}`;
}

function toRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}
