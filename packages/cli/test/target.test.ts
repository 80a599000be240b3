import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findDeployment } from '../src/client/deployment.ts';
import { findProject, resolveTarget } from '../src/client/target.ts';
import type { TargetNames } from '../src/client/target.ts';
import { makeProject, noteDev, startBox } from './_setup.ts';

function resolve(names: TargetNames, context: { cwd: string; env: Record<string, string> }) {
  const said: string[] = [];
  const target = resolveTarget(names, { ...context, say: (line) => void said.push(line) });
  return target.then((found) => ({ ...found, said }));
}

const DEV = { isDev: true, said: [] };

describe('the dev runtime', () => {
  it('is where .svc/dev.json of the project around the current folder says', async () => {
    const root = await makeProject('http://127.0.0.1:4999');
    const cwd = join(root, 'workflows', 'deep');
    await mkdir(cwd);
    expect(await resolve({}, { cwd, env: { SVC_DEV_PORT_OFFSET: '1' } })).toEqual({
      url: 'http://127.0.0.1:4999',
      ...DEV,
    });
  });

  it.each(['svc.json', 'svc.config.ts'])('a folder with %s is a project', async (sign) => {
    const outer = await makeProject('http://127.0.0.1:4999');
    const root = join(outer, 'packages', 'box');
    await mkdir(root, { recursive: true });
    await writeFile(join(root, sign), '');
    expect(findProject(root)).toBe(root);
    expect(await resolve({}, { cwd: root, env: {} })).toEqual({ url: 'http://127.0.0.1:4242', ...DEV });
  });

  it.each([
    ['is half written', '{"url":'],
    ['holds no address', { pid: 1 }],
    ['names another machine', { url: 'http://example.com:4242' }],
  ])('is at the usual address when the file %s', async (_, note) => {
    const cwd = await makeProject();
    await noteDev(cwd, note);
    expect(await resolve({}, { cwd, env: {} })).toEqual({ url: 'http://127.0.0.1:4242', ...DEV });
  });

  describe('that serves another folder', () => {
    const boxOf = (workspace: string, id = 'a') => startBox({ 'GET /.svc/workspace': { body: { workspace, id } } });
    const find = (cwd: string) => resolve({}, { cwd, env: {} }).then(({ url }) => url);

    it('is refused, also where a process has the id of the noted one', async () => {
      const root = await makeProject();
      const { url } = await boxOf('/elsewhere');
      for (const id of [undefined, 'b']) {
        await noteDev(root, { pid: process.pid, url, id });
        await expect(find(root)).rejects.toMatchObject({
          code: 'dev_not_running',
          message: `The dev runtime on ${url} serves "/elsewhere", and this is "${root}".`,
        });
      }
    });

    it('is taken where it is the one that wrote the note, from within a container', async () => {
      const root = await makeProject();
      const { url } = await boxOf('/workspaces/app');
      await noteDev(root, { pid: 2 ** 22 + 1, url, id: 'a' });
      expect(await find(root)).toBe(url);
      await mkdir(join(root, 'deep-agents'));
      await mkdir(join(root, '.github/workflows'), { recursive: true });
      expect(await find(join(root, '.github'))).toBe(url);
    });

    it('is taken in a folder of its own that has a folder named "workflows", and not in a workspace inside of it', async () => {
      const root = await makeProject();
      await writeFile(join(root, 'svc.json'), '{}');
      const { url } = await boxOf(root);
      await noteDev(root, { pid: process.pid, url });
      for (const folder of ['.github/workflows', 'src/workflows', 'bot/workflows', 'bot/.github/workflows'])
        await mkdir(join(root, folder), { recursive: true });
      for (const folder of ['.github', 'src', 'src/workflows']) expect(await find(join(root, folder))).toBe(url);
      await writeFile(join(root, 'bot/svc.json'), '{}');
      await noteDev(join(root, 'bot'), { pid: process.pid, url });
      for (const folder of ['bot', 'bot/.github'])
        await expect(find(join(root, folder))).rejects.toMatchObject({ code: 'dev_not_running' });
    });
  });

  it('moves with SVC_DEV_PORT_OFFSET', async () => {
    const cwd = await makeProject();
    expect(await resolve({}, { cwd, env: { SVC_DEV_PORT_OFFSET: '100' } })).toEqual({
      url: 'http://127.0.0.1:4342',
      ...DEV,
    });
    for (const offset of ['abc', '1.5', '70000', '-4242']) {
      await expect(resolve({}, { cwd, env: { SVC_DEV_PORT_OFFSET: offset } })).rejects.toThrow(`"${offset}"`);
    }
  });
});

describe('--agent', () => {
  const PLANE = { SVC_CONTROL_PLANE_URL: 'https://plane.example.com' };

  it('is no_deployment without a control plane, and not_signed_in where no one is signed in to it', async () => {
    const cwd = await makeProject();
    await expect(resolve({ agent: 'inst-1' }, { cwd, env: {} })).rejects.toMatchObject({
      code: 'no_deployment',
      exitCode: 3,
      message: expect.stringContaining('no control plane is configured'),
    });
    await expect(resolve({ agent: 'inst-1' }, { cwd, env: PLANE })).rejects.toMatchObject({
      code: 'not_signed_in',
      exitCode: 2,
      message: expect.stringContaining('https://plane.example.com'),
    });
  });

  it('is the box the session knows, and not_linked when it knows none', async () => {
    const box = { url: 'https://box.example.com', token: 't' };
    const open = (url: string) => ({
      url,
      findSession: async () => ({ findBox: async (id: string) => (id === 'inst-1' ? box : undefined) }),
    });
    expect(await findDeployment('inst-1', { env: PLANE }, open)).toEqual(box);
    await expect(findDeployment('inst-2', { env: PLANE }, open)).rejects.toMatchObject({
      code: 'not_linked',
      exitCode: 3,
    });
  });
});

describe('--url', () => {
  const cwd = '/';

  it('is the box on that address, with the token of SVC_API_TOKEN', async () => {
    expect(await resolve({ url: 'https://box.example.com/' }, { cwd, env: { SVC_API_TOKEN: ' t ' } })).toEqual({
      url: 'https://box.example.com',
      token: 't',
      said: [],
    });
    expect(await resolve({ url: 'http://127.0.0.1:8080/base//' }, { cwd, env: {} })).toEqual({
      url: 'http://127.0.0.1:8080/base',
      said: [],
    });
  });

  it('says when the token would go to another machine in the clear', async () => {
    const { said } = await resolve({ url: 'http://box.example.com' }, { cwd, env: { SVC_API_TOKEN: 't' } });
    expect(said).toEqual(['SVC_API_TOKEN goes to box.example.com unencrypted.']);
  });

  it.each(['box.example.com', 'ftp://box', 'https://user:pass@box', 'https://box?x=1', ''])(
    'is refused when it is %j',
    async (url) => {
      await expect(resolve({ url }, { cwd, env: {} })).rejects.toThrow(`--url does not take "${url}".`);
    },
  );

  it('cannot stand beside --agent', async () => {
    await expect(resolve({ url: 'https://box', agent: 'inst-1' }, { cwd, env: {} })).rejects.toThrow('both name a box');
  });
});
