import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { addInstallation, openBox } from '../../control-plane/test/_box.ts';
import { ask, signUpFirst } from '../../control-plane/test/_people.ts';
import { startPlane } from '../../control-plane/test/_setup.ts';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { makeHome } from './_home.ts';
import { logIn, QUICK_POLL_S } from './_plane.ts';
import { runCli } from './_run.ts';
import { makeProject, readDocument, readError } from './_setup.ts';

// What a workspace, and a box, are at a control plane.

const boxes = setupBoxes();
const SECRET = 'f'.repeat(64);

/** Someone who has signed in. */
async function signIn() {
  const plane = await startPlane({ pollSeconds: QUICK_POLL_S });
  const ada = await signUpFirst(plane);
  const env = makeHome(plane);
  expect(await logIn(plane, ada, env)).toMatchObject({ exitCode: 0 });
  const list = async () =>
    (await ask(plane, 'GET /api/v1/installations', ada)).body.items as { id: string; name: string }[];
  return { plane, ada, env, list };
}

function makeFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-account-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const readLinkOf = (cwd: string) => JSON.parse(readFileSync(join(cwd, '.svc/project.json'), 'utf8')) as object;

describe('svc link', () => {
  const ARGS = ['--url', 'https://box.example.com/', '--image-tag', 'shop:12'];

  it('registers a box; its secret comes from the environment, a pipe or a person', async () => {
    const { plane, ada, env } = await signIn();
    const ways = [
      { env: { ...env, HMAC_SECRET: SECRET } },
      { env, stdin: `${SECRET}\n` },
      { env, stdin: [SECRET], tty: true },
    ];
    for (const [n, way] of ways.entries()) {
      const id = await addInstallation(plane, ada.cookie, `shop ${n}`);
      const registration = { installationId: id, hmacSecret: SECRET };
      const url = await (await openBox(boxes, { issuer: plane.url, installationId: id, registration })).listen();
      const result = await runCli(['link', id, '--url', `${url}/`, '--image-tag', 'shop:12', '--no-color'], way);
      expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`Linked ${url}`) });
      const { deployment } = (await ask(plane, `GET /api/v1/installations/${id}`, ada)).body;
      expect(deployment).toMatchObject({ url, imageTag: 'shop:12' });
    }
  });

  it.each<[string[], number, string, RegExp]>([
    [['shop', '--image-tag', 'a'], 1, 'generic', /needs --url/],
    [['shop', '--url', 'https://x'], 1, 'generic', /needs --image-tag/],
    [['shop', '--url', 'x', '--image-tag', 'a'], 1, 'generic', /--url does not take "x"/],
    [['shop', ...ARGS], 1, 'generic', /HMAC_SECRET of the box is missing/],
    [ARGS, 3, 'not_linked', /No agent is named/],
  ])('%j: exit %i, %s', async (args, exitCode, code, message) => {
    const { env } = await signIn();
    const result = await runCli(['link', ...args, '--json'], { env, cwd: makeFolder() });
    expect([result.exitCode, readError(result).code]).toEqual([exitCode, code]);
    expect(readError(result).message).toMatch(message);
  });

  it('to an unknown agent is not_found, exit 4', async () => {
    const { env } = await signIn();
    const result = await runCli(['link', randomUUID(), ...ARGS, '--json'], { env: { ...env, HMAC_SECRET: 's' } });
    expect([result.exitCode, readError(result).code]).toEqual([4, 'not_found']);
  });
});

it('svc init makes the workspace an agent of the organization', async () => {
  const { plane, env, list } = await signIn();
  const cwd = makeFolder();
  const result = await runCli(['init', 'shop', '--no-install', '--json'], { env, cwd });
  const [agent] = await list();
  expect(readDocument(result)).toMatchObject({ installationId: agent?.id });
  expect(readLinkOf(join(cwd, 'shop'))).toEqual({ endpoint: plane.url, installationId: agent?.id, name: 'shop' });
});

describe('svc dev in a workspace that is not linked', () => {
  it.each([
    [['--json'], {}, { tty: true, stdin: [] }],
    [['--yes'], {}, { tty: true, stdin: [] }],
    [[], { CI: '1' }, { tty: true, stdin: [] }],
    [[], {}, {}],
  ])('is not_linked, exit 3, where no one can be asked: %j %j', async (flags, more, terminal) => {
    const { env } = await signIn();
    const cwd = await makeProject();
    const result = await runCli(['dev', ...flags], { env: { ...env, ...more }, cwd, ...terminal });
    expect(result.exitCode).toBe(3);
    expect(result.stdout + result.stderr).toMatch(
      /is\s+not\s+linked\s+to\s+an\s+agent\s+at\s.*Run\s+`svc dev`\s+there\s+in\s+a\s+terminal/s,
    );
    expect(readdirSync(cwd)).toEqual(['workflows']);
  });

  /** A workspace that links, and then ends because its svc.json is broken: a box is not what is tested. */
  async function makeBroken(): Promise<string> {
    const cwd = await makeProject();
    writeFileSync(join(cwd, 'svc.json'), '{');
    return cwd;
  }

  it('asks a person: an agent of the organization, or a new one named after the folder', async () => {
    const { plane, ada, env, list } = await signIn();
    const id = await addInstallation(plane, ada.cookie, 'shop');
    const chosen = await makeBroken();
    const result = await runCli(['dev'], { env, cwd: chosen, tty: true, stdin: ['7', '1'] });
    expect(result.stderr).toContain('  1  shop\n');
    expect(result.stderr).toContain('There is no "7" in the list.');
    expect(readLinkOf(chosen)).toEqual({ endpoint: plane.url, installationId: id, name: 'shop' });
    const made = await makeBroken();
    await runCli(['dev'], { env, cwd: made, tty: true, stdin: [''] });
    const other = (await list()).find((one) => one.id !== id);
    expect(readLinkOf(made)).toEqual({ endpoint: plane.url, installationId: other?.id, name: basename(made) });
  });

  it('left by the person is exit 130, and answered wrongly too often not_linked', async () => {
    const { plane, ada, env } = await signIn();
    await addInstallation(plane, ada.cookie, 'shop');
    const options = { env, cwd: await makeBroken(), tty: true };
    expect((await runCli(['dev'], { ...options, stdin: [] })).exitCode).toBe(130);
    expect((await runCli(['dev'], { ...options, stdin: ['a', 'b', 'c'] })).exitCode).toBe(3);
  });
});
