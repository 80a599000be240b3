import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually, linesOf, occupy, startSvc, useRig } from './_setup.ts';
import type { Box, Workspace } from './_setup.ts';

const rig = useRig();
const TYPES = [
  'agents.d.ts',
  'config.d.ts',
  'connect.d.ts',
  'database.d.ts',
  'modules.d.ts',
  'prompts.d.ts',
  'secrets.d.ts',
  'workflows.d.ts',
];
const UUID = /^[0-9a-f-]{36}$/;

/** The box the tests of `describe('a running box')` share. */
const shared: { workspace?: Workspace; box?: Box } = {};
async function openShared(): Promise<{ workspace: Workspace; box: Box }> {
  const workspace = (shared.workspace ??= await makeOldWorkspace());
  const box = (shared.box ??= await workspace.boot());
  return { workspace, box };
}

/** With a `.svc` that everyone on the machine may read. */
async function makeOldWorkspace(): Promise<Workspace> {
  const workspace = await rig.workspace();
  await mkdir(join(workspace.root, '.svc'), { recursive: true });
  await chmod(join(workspace.root, '.svc'), 0o755);
  return workspace;
}

describe('a running box', () => {
  it('--json prints exactly one document on stdout, with the fields of the contract', async () => {
    const { workspace, box } = await openShared();
    const { ports } = workspace;
    expect(JSON.parse(box.stdout())).toEqual({
      schema_version: 1,
      emulator_url: `http://127.0.0.1:${ports.api}`,
      agent_url: `http://127.0.0.1:${ports.api}`,
      public_url: null,
      deeplink: null,
      local_dev_installation_id: expect.stringMatching(UUID),
      gate: { open: true, reason: 'model-provider-env' },
      deep_agents: ['echo'],
      services: {
        postgres_url: expect.stringMatching(
          new RegExp(`^postgres://postgres:[\\w-]{43}@127\\.0\\.0\\.1:${ports.database}/postgres$`),
        ),
        s3_endpoint: `http://127.0.0.1:${ports.objects}`,
        s3_bucket: 'small',
      },
    });
    expect(box.stderr()).toBe('');
  });

  it('--json keeps stdout to its one document, whatever the workspace prints', async () => {
    const noisy = `console.log('noise of the module');
export async function noisy() {
  'use workflow';
  await print();
}
async function print() {
  'use step';
  console.log('noise of the step');
  process.stdout.write('written by the step\\n');
}
`;
    const workspace = await rig.workspace({ 'workflows/noisy.workflow.ts': noisy });
    const box = await workspace.boot();
    await box.finish((await box.start('noisy', { args: [] })).runId);
    expect(JSON.parse(box.stdout())).toMatchObject({ schema_version: 1 });
    for (const text of ['noise of the module', 'noise of the step', 'written by the step'])
      expect(box.stderr()).toContain(text);
    await box.stop();
    const checked = await workspace.svc('check', '--json');
    expect([checked.code, JSON.parse(checked.stdout)]).toMatchObject([0, { problems: [] }]);
  });

  it('notes its process and address in .svc/dev.json', async () => {
    const { workspace, box } = await openShared();
    expect(JSON.parse(workspace.read('.svc/dev.json'))).toEqual({
      pid: box.pid,
      id: expect.any(String),
      url: box.url,
      startedAt: expect.any(String),
    });
  });

  it('keeps .svc, where every prompt and result is, from other users of the machine', async () => {
    const { workspace } = await openShared();
    expect((await stat(join(workspace.root, '.svc'))).mode & 0o777).toBe(0o700);
  });

  it('answers a chat turn that calls a tool', async () => {
    const { box } = await openShared();
    expect(await box.chat('echo', 'tool:answer {}')).toContain('agent-1 word-1');
  });

  it('shows a browser its routes as a page, and a program as JSON', async () => {
    const { box } = await openShared();
    const page = await box.fetch('/', { headers: { accept: 'text/html' } });
    expect(page.headers.get('content-type')).toContain('text/html');
    const text = await page.text();
    const { routes } = await box.get<{ routes: { path: string }[] }>('/');
    expect(routes.length).toBeGreaterThan(10);
    for (const { path } of routes) expect(text).toContain(path);
  });

  it('is found by the other commands, each a process of its own', async () => {
    const { workspace } = await openShared();
    const [listed, shown, started, contract] = await Promise.all([
      workspace.svc('workflows', 'list', '--json'),
      workspace.svc('workflows', 'schema', 'greet', '--json'),
      workspace.svc('workflows', 'start', 'greet', '--input', '{"name":"Ada"}', '--json'),
      workspace.svc('contract', 'show', '--json'),
    ]);
    const { items } = JSON.parse(listed.stdout);
    expect(items).toHaveLength(4);
    expect(items).toContainEqual({ name: 'greet', trigger: 'POST /api/workflows/greet/start', hasSchema: true });
    expect(JSON.parse(shown.stdout).schema).toMatchObject({ input: { required: ['name'] }, output: null });
    expect(JSON.parse(contract.stdout)).toMatchObject({ schema_version: 1, version: 15, minSupported: 1 });
    const { runId } = JSON.parse(started.stdout);
    expect(runId).toMatch(UUID);

    const [run, runs] = await Promise.all([
      eventually(async () => {
        const { stdout } = await workspace.svc('runs', 'get', runId, '--json');
        const { run: found } = JSON.parse(stdout);
        return found.status === 'completed' && found;
      }),
      workspace.svc('runs', 'list', '--json'),
    ]);
    expect(run).toMatchObject({ runId, name: 'greet', output: 'workflow-1 hello-1 Ada' });
    expect(JSON.parse(runs.stdout).items.map((item: { runId: string }) => item.runId)).toContain(runId);
  });

  it('refuses input that does not fit with exit 1 and the reason on stderr, an unknown workflow with exit 4', async () => {
    const { workspace } = await openShared();
    const [misfit, unknown] = await Promise.all([
      workspace.svc('workflows', 'start', 'greet', '--input', '{"name":1}', '--json'),
      workspace.svc('workflows', 'start', 'gret', '--json'),
    ]);
    expect(misfit.code).toBe(1);
    expect(JSON.parse(misfit.stdout).error).toMatchObject({ code: 'workflow_input_invalid' });
    expect(misfit.stderr).toContain('name');
    expect(unknown.code).toBe(4);
    expect(JSON.parse(unknown.stdout).error).toMatchObject({ code: 'workflow_not_found' });
    expect(unknown.stderr).toContain('"greet"');
  });

  it('refuses a second svc dev in the same folder and names the process', async () => {
    const { workspace, box } = await openShared();
    const second = await workspace.dev({ args: ['--port', String(workspace.ports.api + 1)] }).ended;
    expect(second.code).toBe(1);
    const { error } = JSON.parse(second.stdout);
    expect(error).toMatchObject({ code: 'already_running', details: { pid: box.pid } });
    expect(error.message).toContain(String(box.pid));
    expect(error.suggestion).toContain(`kill ${box.pid}`);
    expect(second.stderr.trim().split('\n')).toHaveLength(1);
    // The first one is untouched.
    expect(JSON.parse(workspace.read('.svc/dev.json')).pid).toBe(box.pid);
    expect(await box.chat('echo', 'say:here')).toBe('here');
  });

  it('Ctrl-C ends it with 0, and nothing is left but the stores', async () => {
    const { workspace, box } = await openShared();
    const ended = await box.stop('SIGINT');
    expect(ended).toMatchObject({ code: 0, signal: null });
    expect(ended.ms).toBeLessThan(5_000);
    expect(existsSync(workspace.path('.svc/dev.json'))).toBe(false);
    expect(existsSync(workspace.path('.svc/dev.lock'))).toBe(false);
    const asked = await workspace.svc('runs', 'list', '--json');
    expect(asked.code).toBe(3);
    expect(JSON.parse(asked.stdout).error.code).toBe('dev_not_running');
  });
});

describe('svc dev', () => {
  it('has the editor types written by the time the port answers', async () => {
    const workspace = await rig.workspace();
    const command = workspace.dev({ json: false });
    const found = await eventually(
      async () => {
        await fetch(`http://127.0.0.1:${workspace.ports.api}/live`);
        return readdir(workspace.path('.svc'));
      },
      { every: 1, within: 30_000 },
    );
    expect(found).toEqual(expect.arrayContaining(TYPES));
    expect(workspace.read('.svc/agents.d.ts')).toContain('echo');
    expect(workspace.read('.svc/workflows.d.ts')).toContain('greet');

    const banner = await eventually(() => /Gate.*\n/.test(command.stdout()) && command.stdout());
    expect(banner).toContain(`http://127.0.0.1:${workspace.ports.api}`);
    expect(banner).toMatch(/Agents +echo\n/);
    expect(banner).toMatch(/Workflows +five, gated, greet, nap\n/);
    expect(banner).toMatch(/Gate +open \(model-provider-env\)/);
    command.kill('SIGTERM');
    expect(await command.ended).toMatchObject({ code: 0, signal: null });
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    '%s ends it in time under an open stream and a running step',
    async (signal) => {
      const workspace = await rig.workspace();
      const box = await workspace.boot();
      const response = await box.fetch('/wire-a/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer any' },
        body: JSON.stringify({
          model: 'echo',
          stream: true,
          messages: [{ role: 'user', content: 'chunks:10000;delay:20' }],
        }),
      });
      const reader = response.body?.getReader();
      await reader?.read();
      const log = workspace.path('log.txt');
      await box.start('gated', { log, gate: workspace.path('gate') });
      await eventually(() => linesOf(log).length === 3);

      const ended = await box.stop(signal);
      expect(ended).toMatchObject({ code: 0, signal: null });
      expect(ended.ms).toBeLessThan(5_000);
      await reader?.cancel().catch(() => {});
    },
  );

  it('ends with 0 although the workspace holds a timer open', async () => {
    const workspace = await rig.workspace({
      'lib/word.ts': `setInterval(() => {}, 1000);\nexport const word = 'tick';`,
    });
    const box = await workspace.boot();
    expect(await box.chat('echo', 'tool:answer {}')).toContain('tick');
    const ended = await box.stop();
    expect(ended).toMatchObject({ code: 0, signal: null });
    expect(ended.ms).toBeLessThan(5_000);
  });

  it('Ctrl-C while it boots ends it with 0 as well', async () => {
    const workspace = await rig.workspace();
    const command = workspace.dev();
    await eventually(() => existsSync(workspace.path('.svc/dev.lock')), { every: 1 });
    command.kill('SIGINT');
    expect(await command.ended).toMatchObject({ code: 0, signal: null });
    expect(existsSync(workspace.path('.svc/dev.lock'))).toBe(false);
  });

  it.each([
    ['api', 'Port'],
    ['database', 'embedded database'],
    ['objects', 'object store'],
  ] as const)('a busy %s port is one line and exit 1, never another port', async (which, named) => {
    const workspace = await rig.workspace();
    const release = await occupy(workspace.ports[which]);
    const ended = await workspace.dev().ended;
    await release();
    expect(ended.code).toBe(1);
    const { error } = JSON.parse(ended.stdout);
    expect(error.code).toBe('generic');
    expect(error.message).toContain(`Port ${workspace.ports[which]} is in use`);
    expect(error.message).toContain(named);
    expect(error.suggestion).toContain('SVC_DEV_PORT_OFFSET');
    expect(ended.stderr.trim().split('\n')).toHaveLength(1);
    expect(existsSync(workspace.path('.svc/dev.lock'))).toBe(false);
  });

  it('--port moves the API alone', async () => {
    const workspace = await rig.workspace();
    const port = workspace.ports.api + 1;
    const box = await workspace.boot({ args: ['--port', String(port)] });
    expect(box.payload.agent_url).toBe(`http://127.0.0.1:${port}`);
    expect(box.payload.services.s3_endpoint).toBe(`http://127.0.0.1:${workspace.ports.objects}`);
    expect((await box.fetch('/live')).status).toBe(200);
    await box.stop();
  });

  it('a folder it cannot write to is one line and exit 1, not a stack', async () => {
    const workspace = await rig.workspace({ '.svc/agents.d.ts/in-the-way': '' });
    const ended = await workspace.dev().ended;
    expect(ended.code).toBe(1);
    expect(JSON.parse(ended.stdout).error).toMatchObject({
      code: 'generic',
      message: expect.stringContaining('EISDIR'),
    });
    expect(ended.stderr.trim().split('\n')).toHaveLength(1);
    expect(existsSync(workspace.path('.svc/dev.lock'))).toBe(false);
  });

  it.each(['0', '65536', 'http', ''])('refuses the port "%s" with generic and exit 1', async (port) => {
    const workspace = await rig.workspace();
    const ended = await workspace.dev({ args: ['--port', port] }).ended;
    expect(ended.code).toBe(1);
    expect(JSON.parse(ended.stdout).error.code).toBe('generic');
    expect(existsSync(workspace.path('.svc'))).toBe(false);
  });

  it('a folder that is no workspace is refused with exit 3, and left as it was', async () => {
    const workspace = await rig.workspace({
      'svc.json': null,
      'svc.config.ts': null,
      'deep-agents': null,
      workflows: null,
    });
    const ended = await workspace.dev().ended;
    expect(ended.code).toBe(3);
    expect(JSON.parse(ended.stdout).error).toMatchObject({ code: 'no_project' });
    expect(ended.stderr).toContain('is not a workspace');
    expect(existsSync(workspace.path('.svc'))).toBe(false);
    const human = await startSvc(['dev', workspace.path('missing')], { cwd: workspace.root }).ended;
    expect(human).toMatchObject({ code: 3, stdout: '' });
  });
});
