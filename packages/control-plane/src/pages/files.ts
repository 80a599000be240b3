import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mode } from '../config.ts';

/** A file of the dashboard, read once: a request names one of these, and never a path of the disk. */
export interface PageFile {
  type: string;
  /** Its name changes with what is in it. */
  isHashed: boolean;
  /** What is sent, as it is and as it was compressed when it was built. */
  forms: Partial<Record<Encoding, { bytes: Buffer; etag: string }>> & { identity: { bytes: Buffer; etag: string } };
}

export type Encoding = 'identity' | 'gzip' | 'br';

/** The folder that is built, or, in a checkout, what it is built from. */
export function findPagesFolder(): { folder: string; isBuilt: boolean } {
  const built = fileURLToPath(new URL('./pages', import.meta.url));
  // Beside this file in a checkout; in the package this file is part of the one module of `dist`.
  const isBuilt = existsSync(built);
  return { folder: isBuilt ? built : fileURLToPath(new URL('../../pages', import.meta.url)), isBuilt };
}

/** By the path under which each is asked for: `/`, `/login`, `/assets/base-1a2b3c4d.css`. */
export function readPages(mode: Mode, { folder, isBuilt } = findPagesFolder()): Map<string, PageFile> {
  const files = new Map<string, PageFile>();
  for (const root of [mode, 'both']) {
    for (const file of listFiles(join(folder, root))) {
      const name = relative(join(folder, root), file).split(sep).join('/');
      const path = `/${name.replace(/(?:^|(?<=\/))index\.html$|\.html$/, '')}`;
      const isHashed = isBuilt && /^\/assets\/.*-[\w-]{8}\.\w+$/.test(path);
      files.set(path, { type: TYPES[extname(file)] ?? 'application/octet-stream', isHashed, forms: readForms(file) });
    }
  }
  if (files.size === 0) throw new Error(`There are no pages in "${folder}". The package is not whole.`);
  return files;
}

export const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

/** Every file below a folder but the twins. */
export function listFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !/\.(?:gz|br)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

const TWINS = { gzip: '.gz', br: '.br' } as const;

export function readForms(file: string): PageFile['forms'] {
  const bytes = readFileSync(file);
  const etag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  const forms: PageFile['forms'] = { identity: { bytes, etag: `"${etag}"` } };
  for (const [encoding, extension] of Object.entries(TWINS) as ['gzip' | 'br', string][])
    if (existsSync(file + extension))
      forms[encoding] = { bytes: readFileSync(file + extension), etag: `"${etag}-${encoding}"` };
  return forms;
}
