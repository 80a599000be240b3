import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { CodeFile, CodeStore } from '../engine/journal/code.ts';

/** The most that the files of one version hold together, in bytes. */
export const VERSION_BYTES = 64 * 1024 * 1024;

export function digestOfFile(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

export async function packFile(digest: string, content: Uint8Array): Promise<CodeFile> {
  return { digest, body: (await compress(content)).toString('base64') };
}

/** Undefined: it is not there, or is not what was kept. */
export async function readKeptFile(store: Pick<CodeStore, 'readFile'>, digest: string): Promise<Buffer | undefined> {
  const body = await store.readFile(digest);
  if (body === undefined) return undefined;
  const content = await extract(Buffer.from(body, 'base64'), { maxOutputLength: VERSION_BYTES }).catch(() => undefined);
  return content && digestOfFile(content) === digest ? content : undefined;
}

// --- internal ---

const compress = promisify(gzip);
const extract = promisify(gunzip);
