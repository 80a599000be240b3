import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { pack } from 'tar-stream';
import type { Pack } from 'tar-stream';
import { archiveInvalid, openEntries, skip, toEntryPath } from './archive-read.ts';
import type { ArchivedImage, Entry, ImageArchive, ImageConfig } from './archive-read.ts';
import { EPOCH } from './layer.ts';
import type { Layer } from './layer.ts';

export interface WriteOptions {
  /** Where the layers come from. */
  source: ImageArchive;
  /** The image the layer goes on top of, one of the source. */
  base: ArchivedImage;
  layer: Layer;
  /** What the new image is called. */
  tag: string;
  /** An image that goes along as it is, under the one name. */
  companion?: { image: ArchivedImage; tag: string };
  target: string;
}

/** Writes a docker-archive with the base and the layer in one image. The same input gives the same file, byte by byte. */
export async function writeArchive({ source, base, layer, tag, companion, target }: WriteOptions): Promise<void> {
  const images: NewImage[] = [
    { config: addLayer(base.config, layer), tag },
    ...(companion ? [{ config: companion.image.config, tag: companion.tag }] : []),
  ];
  const names = new Map([base, ...(companion ? [companion.image] : [])].flatMap(listLayerNames));
  const tar = pack();
  const written = pipeline(tar as AsyncIterable<Buffer>, createWriteStream(target));
  const filled = fill(tar, { source, names, layer, images }).catch((error: Error) => {
    tar.destroy(error);
    throw error;
  });
  await Promise.all([filled, written]);
}

// --- internal ---

interface NewImage {
  config: ImageConfig;
  tag: string;
}

interface Content {
  source: ImageArchive;
  /** What a layer is called in the new archive, by its path in the source. */
  names: Map<string, string>;
  layer: Layer;
  images: NewImage[];
}

function addLayer(config: ImageConfig, { diffId }: Layer): ImageConfig {
  const created = config.created ?? EPOCH.toISOString();
  return {
    ...config,
    rootfs: { ...config.rootfs, diff_ids: [...config.rootfs.diff_ids, diffId] },
    history: [
      ...(config.history ?? []),
      { created, created_by: 'COPY workspace/ /workspace/', comment: 'svc package' },
    ],
  };
}

function listLayerNames({ layers, config }: ArchivedImage): [path: string, name: string][] {
  return layers.map(({ path }, at) => [path, toLayerName(config.rootfs.diff_ids[at] ?? '')]);
}

function toLayerName(diffId: string): string {
  return `${diffId.replace(/^sha256:/, '')}.tar`;
}

async function fill(tar: Pack, { source, names, layer, images }: Content): Promise<void> {
  const pending = new Set(names.values());
  for await (const entry of await openEntries(source.file)) {
    const name = names.get(toEntryPath(entry.header.name));
    // Two paths may hold the same layer.
    if (name !== undefined && entry.header.type === 'file' && pending.delete(name)) await copy(tar, name, entry);
    else await skip(entry);
  }
  if (pending.size > 0) throw archiveInvalid(source.file, 'it was changed while it was read');
  await write(tar, toLayerName(layer.diffId), layer.content);
  const manifest = [];
  for (const { config, tag } of images) {
    const text = Buffer.from(JSON.stringify(config));
    const name = `${createHash('sha256').update(text).digest('hex')}.json`;
    await write(tar, name, text);
    manifest.push({ Config: name, RepoTags: [tag], Layers: config.rootfs.diff_ids.map(toLayerName) });
  }
  await write(tar, 'manifest.json', Buffer.from(JSON.stringify(manifest)));
  tar.finalize();
}

function copy(tar: Pack, name: string, entry: Entry): Promise<void> {
  const { size } = entry.header;
  return new Promise((done, fail) => {
    const sink = tar.entry({ name, size, mode: 0o644, mtime: EPOCH }, (error) => (error ? fail(error) : done()));
    entry.on('error', fail);
    entry.pipe(sink);
  });
}

function write(tar: Pack, name: string, content: Buffer): Promise<void> {
  return new Promise((done, fail) => {
    tar.entry({ name, mode: 0o644, mtime: EPOCH }, content, (error) => (error ? fail(error) : done()));
  });
}
