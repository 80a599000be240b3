import type { CompiledModule } from '@svc/runtime/host';
import { bundleFiles } from './bundle.ts';

/**
 * A module as a build would compile it, with all that it imports. Throws what Vite throws.
 * @param sources by path, what modules of the workspace hold, whatever has become of their files
 */
export async function compileModule(
  root: string,
  file: string,
  sources: ReadonlyMap<string, string>,
): Promise<CompiledModule> {
  const { files, paths, parts } = await bundleFiles(root, [file], sources);
  const path = paths.get(file);
  if (path === undefined) throw new Error(`"${file}" is not in what was compiled.`);
  const needed = new Set(parts.get(file));
  return {
    path,
    files: files
      .filter((one) => needed.has(one.path))
      .map((one) => ({
        path: one.path,
        content: typeof one.content === 'string' ? Buffer.from(one.content) : one.content,
      })),
  };
}
