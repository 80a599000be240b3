import { realpathSync } from 'node:fs';
import { expect, it } from 'vitest';
import { useRig } from './e2e/_setup.ts';
import { startQuietDev } from './_quiet-dev.ts';
import { runCli } from './_run.ts';
import { SLOW_MS } from './_schema-dev.ts';

const rig = useRig();

it(
  'a command in one workspace does not talk to the box of another that is on its port',
  async () => {
    const [served, other] = [await rig.workspace(), await rig.workspace()];
    const server = await startQuietDev(rig, served);
    const url = server.payload.agent_url;
    const env = { SVC_DEV_PORT_OFFSET: String(Number(new URL(url).port) - 4242) };
    const own = await runCli(['workflows', 'list', '--json'], { cwd: served.root, env });
    expect(own.exitCode).toBe(0);
    const refused = await runCli(['workflows', 'start', 'greet', '--json'], { cwd: other.root, env });
    expect([refused.exitCode, JSON.parse(refused.stdout)]).toMatchObject([
      3,
      {
        error: {
          code: 'dev_not_running',
          message: `The dev runtime on ${url} serves "${realpathSync(served.root)}", and this is "${other.root}".`,
          suggestion: `Start the one of this folder beside it: SVC_DEV_PORT_OFFSET=100 svc dev. To ask the other: --url ${url}`,
        },
      },
    ]);
    // The note of one that was killed.
    other.write('.svc/dev.json', JSON.stringify({ pid: 2 ** 22 + 1, url }));
    expect(await runCli(['workflows', 'list'], { cwd: other.root, env })).toMatchObject({ exitCode: 3 });
    expect(await runCli(['workflows', 'list', '--url', url], { cwd: other.root, env })).toMatchObject({ exitCode: 0 });
  },
  SLOW_MS,
);
