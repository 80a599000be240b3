import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { extract, pack } from 'tar-stream';

export interface TestImage {
  tags: string[];
  /** The content of its layers, each a tar. */
  layers: Buffer[];
  labels?: Record<string, string>;
}

/** A docker-archive as an engine saves it: configurations and layers named by their hashes, the manifest last. */
export async function makeArchive(file: string, images: TestImage[]): Promise<string> {
  const files: TarFile[] = [];
  const manifest = images.map(({ tags, layers, labels }) => {
    const config = Buffer.from(
      JSON.stringify({
        architecture: 'amd64',
        os: 'linux',
        created: '2026-01-02T03:04:05Z',
        config: { Entrypoint: ['node', '/opt/svc/boot.mjs'], WorkingDir: '/workspace', Labels: labels ?? null },
        rootfs: { type: 'layers', diff_ids: layers.map((layer) => `sha256:${sha256(layer)}`) },
        history: layers.map(() => ({ created_by: 'base' })),
      }),
    );
    files.push(...layers.map((content) => ({ name: `${sha256(content)}.tar`, content })));
    files.push({ name: `${sha256(config)}.json`, content: config });
    return {
      Config: `${sha256(config)}.json`,
      RepoTags: tags,
      Layers: layers.map((layer) => `${sha256(layer)}.tar`),
    };
  });
  const unique = new Map(files.map((one) => [one.name, one]));
  const content = Buffer.from(JSON.stringify(manifest));
  writeFileSync(file, await packTar([...unique.values(), { name: 'manifest.json', content }]));
  return file;
}

export interface TarFile {
  name: string;
  content?: Buffer;
  /** Instead of content: a symbolic link. */
  linkname?: string;
}

export async function packTar(files: TarFile[]): Promise<Buffer> {
  const tar = pack();
  for (const { name, content, linkname } of files) {
    if (linkname !== undefined) tar.entry({ name, type: 'symlink', linkname });
    else tar.entry({ name }, content ?? Buffer.alloc(0));
  }
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

export interface ReadImage {
  tags: string[];
  config: {
    config: { Entrypoint: string[] };
    rootfs: { diff_ids: string[] };
    history: Record<string, string>[];
  };
  layers: Buffer[];
}

/** The images of a docker-archive, each layer checked against the hash its image knows it by, as an engine does. */
export async function loadArchive(file: string): Promise<ReadImage[]> {
  const files = await readTar(readFileSync(file));
  const read = (name: string) => {
    const content = files.get(name);
    if (!content) throw new Error(`The archive has no "${name}".`);
    return content;
  };
  const manifest = JSON.parse(read('manifest.json').toString()) as {
    Config: string;
    RepoTags: string[];
    Layers: string[];
  }[];
  return manifest.map(({ Config, RepoTags, Layers }) => {
    const config = JSON.parse(read(Config).toString()) as ReadImage['config'];
    const layers = Layers.map(read);
    const hashes = layers.map((layer) => `sha256:${sha256(layer)}`);
    if (`${sha256(read(Config))}.json` !== Config || hashes.join() !== config.rootfs.diff_ids.join())
      throw new Error(`The image ${RepoTags.join()} does not match its hashes.`);
    return { tags: RepoTags, config, layers };
  });
}

/** The files of a tar, by path. */
export async function readTar(content: Buffer): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const entries = extract();
  entries.end(content);
  for await (const entry of entries) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    if (entry.header.type === 'file') files.set(entry.header.name, Buffer.concat(chunks));
  }
  return files;
}

/** Lays the layers of an image over one another, as a container sees them. */
export function unpackImage({ layers }: ReadImage, root: string): void {
  mkdirSync(root, { recursive: true });
  for (const layer of layers) {
    const file = join(root, 'layer.tar');
    writeFileSync(file, layer);
    runTar('-xf', file, '-C', root);
  }
}

/** A folder as a layer. */
export function packFolder(folder: string): Buffer {
  return runTar('-cf', '-', '-C', folder, '.');
}

// --- internal ---

function runTar(...args: string[]): Buffer {
  const { status, stdout, stderr } = spawnSync('tar', args, { maxBuffer: 1 << 30 });
  if (status !== 0) throw new Error(stderr.toString());
  return stdout;
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
