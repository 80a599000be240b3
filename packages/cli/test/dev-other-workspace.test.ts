import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { useRig } from './e2e/_setup.ts';
import { startQuietDev } from './_quiet-dev.ts';
import { runCli } from './_run.ts';
import { SLOW_MS } from './_schema-dev.ts';

const rig = useRig();

const OF_OTHERS = { host: 'box.tunnel.example', forwarded: 'for=192.0.2.1', 'x-forwarded-for': '192.0.2.1' };

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
    // The note of one that was killed, whose process id another has.
    other.write('.svc/dev.json', JSON.stringify({ pid: process.pid, id: 'another', url }));
    expect(await runCli(['workflows', 'list'], { cwd: other.root, env })).toMatchObject({ exitCode: 3 });
    expect(await runCli(['workflows', 'list', '--url', url], { cwd: other.root, env })).toMatchObject({ exitCode: 0 });
  },
  SLOW_MS,
);

it(
  'a box says which folder it serves to this machine alone',
  async () => {
    const served = await rig.workspace();
    const { port, origin } = new URL((await startQuietDev(rig, served)).payload.agent_url);
    const { id } = JSON.parse(served.read('.svc/dev.json'));
    const ask = async (headers: Record<string, string> = {}) => {
      const call = request({ port, host: '127.0.0.1', path: '/.svc/workspace', headers }).end();
      const [answer] = (await once(call, 'response')) as [IncomingMessage];
      return { status: answer.statusCode, text: await text(answer) };
    };
    const known = await ask({ host: new URL(origin).host });
    expect([known.status, JSON.parse(known.text)]).toEqual([200, { workspace: realpathSync(served.root), id }]);
    for (const [name, value] of Object.entries(OF_OTHERS)) {
      const refused = await ask({ [name]: value });
      expect(refused.status).toBeGreaterThan(400);
      expect(refused.text).not.toContain(served.root);
    }
  },
  SLOW_MS,
);
