import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Below this npm leaves out what `svc dev` and `svc build` are built on, though it works there. */
export const WHOLE_INSTALL = '20.19';

/**
 * The native part of the bundler that an install has left out, as `name@version`; undefined: nothing is missing. It is an
 * optional package for each platform, and npm drops one without a word whose `engines` do not name the Node at hand.
 */
export function findLeftOut(root: string): string | undefined {
  const modules = join(root, 'node_modules');
  const file = join(modules, 'rolldown/package.json');
  if (!existsSync(file)) return undefined;
  const { optionalDependencies = {} } = JSON.parse(readFileSync(file, 'utf8')) as {
    optionalDependencies?: Record<string, string>;
  };
  const own = `@rolldown/binding-${platformName()}`;
  const version = optionalDependencies[own];
  return version === undefined || existsSync(join(modules, own)) ? undefined : `${own}@${version}`;
}

// --- internal ---

/** As native packages are named: `linux-x64-gnu`, `darwin-arm64`. */
function platformName(): string {
  const { platform, arch } = process;
  if (platform === 'win32') return `${platform}-${arch}-msvc`;
  if (platform !== 'linux') return `${platform}-${arch}`;
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return `${platform}-${arch}-${header?.glibcVersionRuntime === undefined ? 'musl' : 'gnu'}`;
}
