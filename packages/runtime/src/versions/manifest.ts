import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { CodeEntry } from '../catalog/catalog.ts';
import type { CodeKey } from '../engine/journal/code.ts';
import type { MasterKey } from '../secrets/seal.ts';

/** What a version is, beside its files. */
export type VersionManifest = CodeEntry & {
  /** The path of its module among the files. */
  path: string;
  /** By path: the SHA-256 of the content, in hex. */
  files: Record<string, string>;
};

/** Its text, sealed for this key: what the box has not written itself it does not execute. */
export function sealManifest(master: MasterKey, key: CodeKey, manifest: VersionManifest): string {
  const text = JSON.stringify(manifest);
  return JSON.stringify({ v: 1, mac: macOf(master, key, text).toString('hex'), text });
}

/** Undefined: this box has not written it, with the key it has now. */
export function openManifest(master: MasterKey, key: CodeKey, sealed: string): VersionManifest | undefined {
  const { v, mac, text } = parse(sealed);
  if (v !== 1 || typeof mac !== 'string' || typeof text !== 'string') return undefined;
  const given = Buffer.from(mac, 'hex');
  const own = macOf(master, key, text);
  if (given.length !== own.length || !timingSafeEqual(given, own)) return undefined;
  return JSON.parse(text) as VersionManifest;
}

// --- internal ---

/** Of which code it is stands in it: a row that is copied to another hash is refused. */
function macOf({ key }: MasterKey, { codeHash, name }: CodeKey, text: string): Buffer {
  const derived = Buffer.from(hkdfSync('sha256', key, '', 'svc kept code', 32));
  return createHmac('sha256', derived)
    .update(JSON.stringify([codeHash, name, text]))
    .digest();
}

function parse(text: string): { v?: unknown; mac?: unknown; text?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as object;
  } catch {
    return {};
  }
}
