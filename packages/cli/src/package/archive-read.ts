import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import type { Extract } from 'tar-stream';
import { CliError } from '../errors.ts';
import { READ_PROBLEMS } from '../terminal/read-input.ts';

/** Images as `docker save` and `podman save` write them, their layers still in the file. */
export interface ImageArchive {
  file: string;
  images: ArchivedImage[];
}

export interface ArchivedImage {
  tags: string[];
  config: ImageConfig;
  /** Where the content of each layer is in the file. */
  layers: ArchivedLayer[];
}

export interface ArchivedLayer {
  path: string;
  size: number;
}

/** The part of an image's configuration that is read or changed here; the rest is carried along. */
export interface ImageConfig {
  created?: string;
  config?: { Labels?: Record<string, string> | null };
  rootfs: { type: string; diff_ids: string[] };
  history?: Record<string, unknown>[];
}

/** Reads what a docker-archive holds. Throws `archive_invalid` when it is none, or is cut off. */
export async function readArchive(file: string): Promise<ImageArchive> {
  const index = await indexArchive(file).catch((error: unknown) => {
    if (error instanceof CliError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const isSystem = code !== undefined && /^E[A-Z]+$/.test(code);
    throw archiveInvalid(
      file,
      isSystem ? `it cannot be read: ${READ_PROBLEMS[code] ?? code}` : `it is no tar file (${message})`,
    );
  });
  const manifest = parse<ManifestEntry[]>(index.texts.get('manifest.json'));
  if (!Array.isArray(manifest) || manifest.length === 0) throw archiveInvalid(file, explainForeign(index));
  return { file, images: manifest.map((entry) => toImage(entry, index, file)) };
}

/** A file of a tar, its header and its content. */
export type Entry = Extract extends AsyncIterable<infer One> ? One : never;

/** The entries of a tar file, gzip or not, in order. Whoever iterates has to read or skip each to its end. */
export async function openEntries(file: string): Promise<AsyncIterable<Entry>> {
  const isPacked = await isGzip(file);
  const source = createReadStream(file);
  const unpacked: Readable = isPacked ? source.pipe(createGunzip()) : source;
  const entries = extract();
  for (const stream of [source, unpacked]) stream.on('error', (error: Error) => entries.destroy(error));
  entries.on('close', () => source.destroy());
  unpacked.pipe(entries as unknown as Writable);
  return entries;
}

/** The name of an entry without a leading `./`. */
export function toEntryPath(name: string): string {
  return posix.normalize(name).replace(/\/$/, '');
}

/** Reads an entry to its end, which the next one waits for. */
export function skip(entry: Entry): Promise<void> {
  return new Promise((done, fail) => {
    entry.on('end', done);
    entry.on('error', fail);
    entry.resume();
  });
}

export function archiveInvalid(file: string, reason: string): CliError {
  return new CliError('archive_invalid', `"${file}" cannot be used as a base: ${reason}.`, {
    suggestion: 'Save one: docker save -o base.tar <base image>',
  });
}

// --- internal ---

interface ManifestEntry {
  Config: string;
  RepoTags: string[] | null;
  Layers: string[];
}

interface ArchiveIndex {
  sizes: Map<string, number>;
  /** Where a link leads. Older engines write a layer once and link to it. */
  links: Map<string, string>;
  /** The content of everything small, among which the configurations are. */
  texts: Map<string, string>;
}

const SMALL_BYTES = 1_000_000;

async function isGzip(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await handle.close();
  }
}

async function indexArchive(file: string): Promise<ArchiveIndex> {
  const index: ArchiveIndex = { sizes: new Map(), links: new Map(), texts: new Map() };
  for await (const entry of await openEntries(file)) {
    const { name, type, size = 0, linkname } = entry.header;
    const path = toEntryPath(name);
    if (type === 'symlink' && linkname) index.links.set(path, posix.join(posix.dirname(path), linkname));
    if (type === 'link' && linkname) index.links.set(path, toEntryPath(linkname));
    if (type === 'file') index.sizes.set(path, size);
    if (type === 'file' && size <= SMALL_BYTES) index.texts.set(path, await readText(entry));
    else await skip(entry);
  }
  return index;
}

async function readText(entry: Entry): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of entry) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function explainForeign({ sizes }: ArchiveIndex): string {
  const isLayout = sizes.has('oci-layout') || sizes.has('index.json');
  return isLayout
    ? 'it is an OCI layout, and a docker-archive is needed; skopeo copy turns one into the other'
    : 'it is no docker-archive, which has a manifest.json with images';
}

function toImage({ Config, RepoTags, Layers }: ManifestEntry, index: ArchiveIndex, file: string): ArchivedImage {
  const config = parse<ImageConfig>(index.texts.get(resolve(Config, index)));
  const diffIds = config?.rootfs?.diff_ids;
  if (!config || !Array.isArray(diffIds) || diffIds.length !== Layers.length)
    throw archiveInvalid(file, `the configuration of an image in it, "${Config}", does not fit its layers`);
  const layers = Layers.map((layer) => {
    const path = resolve(layer, index);
    const size = index.sizes.get(path);
    if (size === undefined) throw archiveInvalid(file, `a layer in it, "${layer}", is missing`);
    return { path, size };
  });
  return { tags: RepoTags ?? [], config, layers };
}

function resolve(name: string, { links }: ArchiveIndex): string {
  const path = toEntryPath(name);
  return links.get(path) ?? path;
}

function parse<T>(text: string | undefined): T | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
}
