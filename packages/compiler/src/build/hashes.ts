import { join, sep } from 'node:path';
import { toServerConfig, WORKSPACE_ENVIRONMENT } from '../workspace-server.ts';
import { createHasher } from './closure.ts';

/** The hash of each file's module closure: the one `svc dev` gives it, so that a run can move from one to the other. */
export async function hashFiles(root: string, files: readonly string[]): Promise<Map<string, string>> {
  const { createServer } = await import('vite');
  const server = await createServer(toServerConfig({ root }));
  try {
    const environment = server.environments[WORKSPACE_ENVIRONMENT];
    if (!environment) throw new Error(`Vite made no environment "${WORKSPACE_ENVIRONMENT}".`);
    const hashOf = createHasher(environment, root);
    const hashes = new Map<string, string>();
    for (const file of files) hashes.set(file, await hashOf(join(root, file).split(sep).join('/')));
    return hashes;
  } finally {
    await server.close();
  }
}
