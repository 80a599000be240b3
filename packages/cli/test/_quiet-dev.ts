import { onTestFinished } from 'vitest';
import { startDev } from '../src/dev/start.ts';
import type { Rig, Workspace } from './e2e/_setup.ts';

/** `svc dev` of a workspace within the process of the test, without a port or a word; closed after the test. */
export async function startQuietDev(rig: Rig, workspace: Workspace): ReturnType<typeof startDev> {
  const server = await startDev({
    root: workspace.root,
    listen: false,
    json: true,
    verbose: false,
    say: () => {},
    env: { ...workspace.env, MODEL_PROVIDER_BASE_URL: rig.model().url },
  });
  onTestFinished(() => server.close());
  return server;
}
