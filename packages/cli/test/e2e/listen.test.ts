import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { useRig } from './_setup.ts';

const rig = useRig();

/** By which others on its network reach this machine, where it has one. */
const address =
  Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';

/** Over a socket to this address, as whoever has such a Host in their page. */
function ask(to: string, port: number, host: string): Promise<{ status: number | undefined; code: unknown }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: to, port, path: '/api/runs', headers: { host } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      answer.on('end', () =>
        resolve({ status: answer.statusCode, code: (JSON.parse(text) as { code?: string }).code }),
      );
    });
    sent.on('error', reject).end();
  });
}

describe('svc dev', () => {
  it('--listen is reached by the addresses of this machine, and by no name that leads here', async () => {
    const workspace = await rig.workspace();
    const box = await workspace.boot({ args: ['--listen'] });
    const { api: port } = workspace.ports;
    expect(await ask(address, port, `${address}:${port}`)).toEqual({ status: 200, code: undefined });
    expect(await ask('127.0.0.1', port, `localhost:${port}`)).toEqual({ status: 200, code: undefined });
    for (const host of [`box.example.com:${port}`, '192.0.2.1', `${address}.example.com`])
      expect(await ask(address, port, host)).toEqual({ status: 403, code: 'host_not_allowed' });
    expect(box.stderr()).toContain('--listen binds every address and dev checks no credential');
    await box.stop();
  });

  it('without it is reached on the loopback alone, and refuses the addresses of this machine as Host', async () => {
    const workspace = await rig.workspace();
    const box = await workspace.boot();
    const { api: port } = workspace.ports;
    await expect(ask(address, port, `${address}:${port}`)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(await ask('127.0.0.1', port, `${address}:${port}`)).toEqual({ status: 403, code: 'host_not_allowed' });
    expect(box.stderr()).not.toContain('--listen');
    await box.stop();
  });
});
