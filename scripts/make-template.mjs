// Makes packages/runtime/template/: the database folder a development box starts from on its first boot, so that it
// need not run initdb. Run it after a change of packages/runtime/migrations or of PGlite's version, and commit what
// it wrote:
//
//   node scripts/make-template.mjs
//
// Postgres gives each database folder a number and times of its own, so the archive's bytes differ from run to run;
// what is in it does not. A test compares its migrations and its PGlite version with the sources.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import { runnerImport } from 'vite';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const RUNTIME = join(ROOT, 'packages/runtime');
const require = createRequire(join(RUNTIME, 'package.json'));
const BLOCK = 512;

const scratch = mkdtempSync(join(tmpdir(), 'svc-template-'));
try {
  const dataDir = join(scratch, 'data');
  await createDatabase(dataDir);
  const archive = compress(packTar(dataDir));
  const folder = join(RUNTIME, 'template');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'pglite.tar.br'), archive);
  writeFileSync(join(folder, 'template.json'), `${JSON.stringify(describe(), null, 2)}\n`);
  console.log(`packages/runtime/template/pglite.tar.br: ${(archive.length / 1e6).toFixed(2)} MB`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/**
 * A folder made by initdb, migrated by the box's own code and shut down in order. Without the databases that new ones
 * are copied from: two thirds of its files, and every one of them is written at the first boot.
 */
async function createDatabase(dataDir) {
  const { PGlite } = await importOf('@electric-sql/pglite');
  const { vector } = await importOf('@electric-sql/pglite-pgvector');
  const { module: database } = await runnerImport(join(RUNTIME, 'src/stores/database.ts'));
  const pg = await PGlite.create({ dataDir, extensions: { vector } });
  await database.migrate({ transaction: (work) => pg.transaction((tx) => work(toSession(tx))) });
  for (const name of ['template0', 'template1']) {
    await pg.exec(`alter database ${name} is_template false`);
    await pg.exec(`drop database ${name}`);
  }
  await pg.exec('checkpoint');
  await pg.close();
}

function toSession(tx) {
  return {
    query: async (text, params) => (await tx.query(text, params)).rows,
    exec: async (text) => void (await tx.exec(text)),
  };
}

async function importOf(name) {
  // The package's CommonJS entry lies beside its ES module.
  return import(pathToFileURL(require.resolve(name).replace(/\.cjs$/, '.js')).href);
}

/** ustar, sorted, without times, owners, or the files a running server leaves. */
function packTar(folder) {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.name.startsWith('postmaster.'))
    .map((entry) => ({ path: join(entry.parentPath, entry.name), isFolder: entry.isDirectory() }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  const blocks = names.flatMap(({ path, isFolder }) => {
    const content = isFolder ? Buffer.alloc(0) : readFileSync(path);
    const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
    return [tarHeader(path.slice(folder.length + 1), isFolder, content.length), content, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function tarHeader(name, isFolder, size) {
  if (name.length > 100) throw new Error(`The name "${name}" is too long for the archive.`);
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0);
  header.write(isFolder ? '0000700\0' : '0000600\0', 100);
  header.write('0000000\0'.repeat(2), 108);
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        ', 148);
  header.write(isFolder ? '5' : '0', 156);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

function compress(bytes) {
  return brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}

/** What the archive was made from. */
function describe() {
  const { dependencies } = JSON.parse(readFileSync(join(RUNTIME, 'package.json'), 'utf8'));
  const folder = join(RUNTIME, 'migrations');
  const { entries } = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8'));
  const hashOf = (tag) =>
    createHash('sha256')
      .update(readFileSync(join(folder, `${tag}.sql`), 'utf8'))
      .digest('hex');
  return {
    pglite: dependencies['@electric-sql/pglite'],
    migrations: entries.map(({ tag }) => ({ tag, hash: hashOf(tag) })),
  };
}
