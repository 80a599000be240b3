import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findProject, resolveTarget } from '../src/target.ts';
import { makeProject, noteDev } from './_setup.ts';

describe('the dev runtime', () => {
  it('is where .svc/dev.json of the project around the current folder says', async () => {
    const root = await makeProject('http://127.0.0.1:4999');
    const cwd = join(root, 'workflows', 'deep');
    await mkdir(cwd);
    expect(resolveTarget(undefined, { cwd, env: { SVC_DEV_PORT_OFFSET: '1' } })).toEqual({
      url: 'http://127.0.0.1:4999',
    });
  });

  it.each(['svc.json', 'svc.config.ts'])('a folder with %s is a project', async (sign) => {
    const outer = await makeProject('http://127.0.0.1:4999');
    const root = join(outer, 'packages', 'box');
    await mkdir(root, { recursive: true });
    await writeFile(join(root, sign), '');
    expect(findProject(root)).toBe(root);
    expect(resolveTarget(undefined, { cwd: root, env: {} })).toEqual({ url: 'http://127.0.0.1:4242' });
  });

  it.each([
    ['is half written', '{"url":'],
    ['holds no address', { pid: 1 }],
    ['names another machine', { url: 'http://example.com:4242' }],
  ])('is at the usual address when the file %s', async (_, note) => {
    const cwd = await makeProject();
    await noteDev(cwd, note);
    expect(resolveTarget(undefined, { cwd, env: {} })).toEqual({ url: 'http://127.0.0.1:4242' });
  });

  it('moves with SVC_DEV_PORT_OFFSET', async () => {
    const cwd = await makeProject();
    expect(resolveTarget(undefined, { cwd, env: { SVC_DEV_PORT_OFFSET: '100' } })).toEqual({
      url: 'http://127.0.0.1:4342',
    });
    for (const offset of ['abc', '1.5', '70000', '-4242']) {
      expect(() => resolveTarget(undefined, { cwd, env: { SVC_DEV_PORT_OFFSET: offset } })).toThrow(`"${offset}"`);
    }
  });
});

describe('--agent', () => {
  it('is refused without a control plane, and the reason differs with one', async () => {
    const cwd = await makeProject();
    expect(() => resolveTarget('inst-1', { cwd, env: {} })).toThrow('no control plane is configured');
    const env = { SVC_CONTROL_PLANE_URL: 'https://plane.example.com' };
    expect(() => resolveTarget('inst-1', { cwd, env })).toThrow('https://plane.example.com');
  });
});
