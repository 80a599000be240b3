import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { pack } from 'tar-stream';

/** A layer of an image: a tar, and the hash an image knows it by. */
export interface Layer {
  content: Buffer;
  diffId: string;
}

/** The bundle as the Dockerfile would copy it: `workspace/` and all in it, owned by root. The same files give the same bytes. */
export async function packWorkspace(folder: string): Promise<Layer> {
  const tar = pack();
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
    .map(({ entry, path }) => ({
      entry,
      path,
      name: path
        .slice(folder.length + 1)
        .split(sep)
        .join('/'),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  tar.entry({ name: 'workspace/', type: 'directory', mode: 0o755, mtime: EPOCH });
  for (const { entry, path, name } of entries) {
    const isFolder = entry.isDirectory();
    const header = { name: `workspace/${name}${isFolder ? '/' : ''}`, mode: isFolder ? 0o755 : 0o644, mtime: EPOCH };
    if (isFolder) tar.entry({ ...header, type: 'directory' });
    else tar.entry({ ...header, type: 'file' }, readFileSync(path));
  }
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  const content = Buffer.concat(chunks);
  return { content, diffId: `sha256:${createHash('sha256').update(content).digest('hex')}` };
}

/** When everything in an archive was made, so that it is the same each time. */
export const EPOCH = new Date(0);
