import { onTestFinished } from 'vitest';
import { startDev } from '../src/dev/start.ts';
import type { DevOptions } from '../src/dev/start.ts';
import { eventually } from './e2e/_setup.ts';
import type { Rig, Workspace } from './e2e/_setup.ts';

const SOON = { within: 30_000 };

/** `svc dev` in this process, and what it says: every line, and a wait for one. */
export async function bootSaying(rig: Rig, workspace: Workspace, options: Partial<DevOptions> = {}) {
  const said: string[] = [];
  const server = await startDev({
    root: workspace.root,
    listen: false,
    json: true,
    verbose: false,
    say: (line) => void said.push(line),
    ...options,
    env: { ...workspace.env, MODEL_PROVIDER_BASE_URL: rig.model().url, ...options.env },
  });
  onTestFinished(() => server.close());
  const heard = async (pattern: RegExp, from = 0) => {
    try {
      return await eventually(() => said.slice(from).find((line) => pattern.test(line)), SOON);
    } catch (cause) {
      throw new Error(`Not said: ${pattern}. Said:\n${said.slice(from).join('\n')}`, { cause });
    }
  };
  return { server, said, heard };
}
