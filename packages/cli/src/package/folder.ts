import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { CliError } from '../errors.ts';

/** The one file of the folder that is never replaced. */
export const ENV_FILE = '.env';

/**
 * Throws `package_failed` for a folder that holds something else: neither empty, nor written by `svc package`, nor left
 * with its `.env` alone.
 */
export function checkDeployFolder(folder: string, mark: string): void {
  const stats = fs.statSync(folder, { throwIfNoEntry: false });
  if (!stats) return;
  if (!stats.isDirectory()) throw notOurs(folder, 'is a file');
  const entries = fs.readdirSync(folder).filter((name) => name !== ENV_FILE);
  const compose = join(folder, 'docker-compose.yml');
  const isOurs = fs.existsSync(compose) && fs.readFileSync(compose, 'utf8').startsWith(mark);
  if (entries.length > 0 && !isOurs) throw notOurs(folder, 'holds something other than a deploy folder');
  const bundle = join(folder, 'workspace');
  const isBundle = !fs.existsSync(bundle) || fs.existsSync(join(bundle, 'manifest.json'));
  if (!isBundle) throw notOurs(bundle, 'holds something other than a bundle');
}

/** The text of the folder's `.env`; undefined when there is none. */
export function findEnv(folder: string): string | undefined {
  const file = join(folder, ENV_FILE);
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined;
}

/**
 * Puts what a draft holds into the folder, entry by entry, and removes what an earlier run left of `owned`. Everything
 * else in the folder stays. Each entry is the old or the new one, whenever this is cut off; doing it again completes it.
 */
export function commitDraft(draft: string, folder: string, { env, owned }: { env: string; owned: readonly string[] }) {
  fs.mkdirSync(folder, { recursive: true });
  // First: the secrets a new composition asks for must be there when it is, and an old one does not mind them.
  writeEnv(join(folder, ENV_FILE), env);
  const entries = fs.readdirSync(draft);
  for (const name of entries) replaceEntry(join(draft, name), join(folder, name), join(draft, `${name}.old`));
  for (const name of owned)
    if (!entries.includes(name)) fs.rmSync(join(folder, name), { recursive: true, force: true });
}

/** Where a folder is prepared: beside its place, so that renames suffice. */
export function draftOf(folder: string): string {
  return `${folder}.${process.pid}.new`;
}

/** Every file below a folder, sorted, with `/` between the names. */
export function listFiles(folder: string): string[] {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort();
}

// --- internal ---

/** A folder cannot be renamed onto another: the old one goes aside first. */
function replaceEntry(from: string, to: string, aside: string): void {
  const isFolder = fs.lstatSync(to, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder) fs.renameSync(to, aside);
  fs.renameSync(from, to);
}

/** Readable by its owner alone, from its first byte. A link leads on to where the secrets are kept. */
function writeEnv(file: string, text: string): void {
  const path = fs.existsSync(file) ? fs.realpathSync(file) : file;
  if (fs.existsSync(path)) fs.chmodSync(path, OWNER_ONLY);
  if (fs.existsSync(path) && fs.readFileSync(path, 'utf8') === text) return;
  const temporary = join(dirname(path), `.env.${process.pid}.tmp`);
  try {
    const handle = fs.openSync(temporary, 'w', OWNER_ONLY);
    fs.writeFileSync(handle, text);
    fs.fsyncSync(handle);
    fs.closeSync(handle);
    fs.renameSync(temporary, path);
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}

const OWNER_ONLY = 0o600;

function notOurs(path: string, what: string): CliError {
  return new CliError('package_failed', `"${path}" ${what}, and nothing in it is overwritten.`, {
    suggestion: 'Name a folder of its own: svc package --out-dir dist/deploy',
  });
}
