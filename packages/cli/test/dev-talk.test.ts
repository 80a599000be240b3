import { existsSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findSqlite } from '@svc/runtime/host';
import type { DevOptions } from '../src/dev/start.ts';
import { eventually, occupy, useRig } from './e2e/_setup.ts';
import type { Workspace } from './e2e/_setup.ts';
import { bootSaying } from './_dev-said.ts';
import { SLOW_MS, USERS } from './_schema-dev.ts';

const rig = useRig();
const SOON = { within: 30_000 };

const boot = (workspace: Workspace, options?: Partial<DevOptions>) => bootSaying(rig, workspace, options);

/** As in a journal of an earlier release: none of the code its runs have begun with is there. */
async function forgetCode(workspace: Workspace): Promise<void> {
  const { opener } = await findSqlite();
  const db = opener?.open(workspace.path('.svc/journal.db'));
  db?.exec('delete from code_versions; delete from code_parts; delete from code_files;');
  db?.close();
}

const isFree = (port: number) =>
  occupy(port).then(
    async (release) => {
      await release();
      return true;
    },
    () => false,
  );

describe('svc dev', () => {
  it(
    'says that a run has failed, where, and how to find out more',
    async () => {
      const workspace = await rig.workspace({
        'workflows/boom.workflow.ts': `async function read() {
  'use step';
  const nothing = JSON.parse('{}');
  return nothing.x.y;
}
read.maxRetries = 0;

export async function boom() {
  'use workflow';
  return read();
}
`,
      });
      // Stacks are relative to where the command runs, which is the workspace.
      const cwd = process.cwd();
      process.chdir(workspace.root);
      onTestFinished(() => process.chdir(cwd));
      const { server, said, heard } = await boot(workspace);
      const started = await fetch(`${server.payload.agent_url}/api/workflows/boom/start`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      const { runId } = (await started.json()) as { runId: string };
      const line = await heard(/^boom failed: /);
      // Without the maps that the command turns on, the line is that of the transformed file.
      const [what, place, why] = line?.split('  ') ?? [];
      expect(what).toBe("boom failed: Cannot read properties of undefined (reading 'y')");
      expect(place).toMatch(/^workflows\/boom\.workflow\.ts:\d+$/);
      expect(why).toBe(`svc why ${runId}`);
      expect(said.filter((one) => one.startsWith('boom failed'))).toHaveLength(1);

      // Nothing of the project has thrown: there is no line of it to name.
      const chat = await fetch(`${server.payload.agent_url}/wire-a/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer dev' },
        body: JSON.stringify({ model: 'echo', messages: [{ role: 'user', content: 'error:400' }] }),
      });
      expect(chat.status).toBe(400);
      expect(await heard(/^echo failed: /)).toMatch(
        /^echo failed: The model provider answered 400: [^:]*  svc why \S+$/,
      );
    },
    SLOW_MS,
  );

  it(
    'says that a run waits for code that is kept nowhere, and how to find out more',
    async () => {
      const body = (call: string) => `import { sleep } from '@svc/runtime';

async function one() {
  'use step';
  return 1;
}

async function two() {
  'use step';
  return 2;
}

export async function patient() {
  'use workflow';
  ${call};
  await sleep('5s');
}
`;
      const workspace = await rig.workspace({ 'workflows/patient.workflow.ts': body('await one()') });
      const first = await boot(workspace);
      const call = async (url: string, init?: RequestInit) => (await (await fetch(url, init)).json()) as never;
      const api = `${first.server.payload.agent_url}/api`;
      const { runId } = await call(`${api}/workflows/patient/start`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      const status = async (base: string) => ((await call(`${base}/runs/${runId}`)) as { status: string }).status;
      await eventually(async () => (await status(api)) === 'waiting', SOON);
      await first.server.close();
      await forgetCode(workspace);
      workspace.write('workflows/patient.workflow.ts', body('await two()'));
      const { heard, said } = await boot(workspace);
      expect(await heard(/^patient waits for its code: /)).toMatch(
        /^patient waits for its code: The code this run began with \([\da-f]{12}\) .*\.  svc why \S+$/,
      );
      expect(said.filter((one) => one.startsWith('patient'))).toHaveLength(1);
      expect(said.join('\n')).toContain(`svc why ${runId}`);
    },
    SLOW_MS,
  );

  it(
    'prints what is served, and what does not load, when the gate opens',
    async () => {
      const broken = `import { defineDeepAgent } from '@svc/runtime';
if (Date.now() > 0) throw new Error('out of ' + 'order');
export default defineDeepAgent({ name: 'broken' });
`;
      const workspace = await rig.workspace({ 'deep-agents/broken/index.ts': broken });
      const { server, said, heard } = await boot(workspace, { env: { MODEL_PROVIDER_BASE_URL: '' } });
      expect(server.payload.gate.open).toBe(false);
      expect(said.join('\n')).not.toContain('out of order');
      const asked = await fetch(`${server.payload.agent_url}/api/workflows/greet/schema`);
      expect([asked.status, await asked.json()]).toMatchObject([503, { code: 'workflow_runtime_not_armed' }]);
      const set = await fetch(`${server.payload.agent_url}/api/model-provider`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ baseUrl: rig.model().url, apiKey: 'sk-secret' }),
      });
      expect(set.status).toBe(200);
      const line = await heard(/^The gate is open/);
      expect(line).toBe('The gate is open. Agents: broken, echo. Workflows: five, gated, greet, nap.');
      await heard(/out of order/);
      expect(said.filter((one) => one.startsWith('The gate is open'))).toHaveLength(1);
    },
    SLOW_MS,
  );

  it(
    'says in one line that the provider does not list the default model, and goes on',
    async () => {
      const config = (model: string) =>
        `import { defineConfig } from '@svc/runtime';\nexport default defineConfig({ model: '${model}' });\n`;
      const workspace = await rig.workspace({ 'svc.config.ts': config('vendor/unlisted') });
      const { server, said, heard } = await boot(workspace);
      expect(await heard(/does not list/)).toBe(
        'The model provider does not list the default model "vendor/unlisted". Take one of `svc provider models` as "model" in svc.config.ts.',
      );
      expect(said.filter((line) => line.includes('vendor/unlisted'))).toHaveLength(1);
      expect((await fetch(`${server.payload.agent_url}/api/workflows`)).status).toBe(200);
    },
    SLOW_MS,
  );

  it(
    'names the secrets of svc.config.ts that are not set, until they are',
    async () => {
      const workspace = await rig.workspace({
        'svc.config.ts': `import { defineConfig } from '@svc/runtime';\nexport default defineConfig({ secrets: ['MAIL_KEY', 'BANK_KEY'] });\n`,
      });
      const first = await boot(workspace);
      await first.heard(/BANK_KEY/);
      const told = (said: string[]) => said.filter((line) => line.includes('is not set'));
      expect(told(first.said)).toEqual([
        'The secret MAIL_KEY of svc.config.ts is not set: `svc secrets set MAIL_KEY` sets it.',
        'The secret BANK_KEY of svc.config.ts is not set: `svc secrets set BANK_KEY` sets it.',
      ]);
      const set = await fetch(`${first.server.payload.agent_url}/api/secrets/MAIL_KEY`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ value: 'planted' }),
      });
      expect(set.status).toBe(201);
      await first.server.close();
      const second = await boot(workspace);
      await second.heard(/BANK_KEY/);
      expect(told(second.said)).toHaveLength(1);
    },
    SLOW_MS,
  );

  it(
    'runs a workspace whose slug is too short for a bucket, in the bucket svc package makes',
    async () => {
      const workspace = await rig.workspace({ 'svc.json': '{ "slug": "ai" }\n' });
      const { server } = await boot(workspace);
      expect(server.payload.services.s3_bucket).toBe('svc-ai');
      expect(workspace.read('.svc/services.env')).toContain('SVC_S3_BUCKET=svc-ai\n');
      expect(existsSync(workspace.path('.svc/objects/svc-ai'))).toBe(true);
    },
    SLOW_MS,
  );

  it(
    'of a database that does not answer says what to correct, and refers to no box that did not start',
    async () => {
      const workspace = await rig.workspace();
      const DATABASE_URL = 'postgres://nobody@127.0.0.1:1/nothing';
      const suggestion = expect.stringMatching(/^Correct what the message names/) as string;
      await expect(boot(workspace, { env: { DATABASE_URL } })).rejects.toMatchObject({
        code: 'store_unavailable',
        suggestion,
      });
    },
    SLOW_MS,
  );

  it(
    'calls reloaded what the program is made of, removed what is gone, and no other file',
    async () => {
      const workspace = await rig.workspace({ 'src/schema.ts': USERS });
      const { said, heard } = await boot(workspace);
      await heard(/^Migrated/);
      const files = async (write: () => void) => {
        const before = said.length;
        write();
        return ((await heard(/^(?:reloaded|removed)/, before)) as string).replace(/ in \d+ ms$/, '');
      };
      workspace.write('tt/w.ts', 'export const w = 1;\n');
      workspace.write('foo/tsconfig.json', '{}\n');
      workspace.edit('svc.json', '{', '{ ');
      expect(await files(() => workspace.edit('lib/word.ts', 'word-1', 'word-2'))).toBe('reloaded lib/word.ts');
      const added = () =>
        workspace.write('workflows/more.workflow.ts', `export async function more() {\n  'use workflow';\n}\n`);
      expect(await files(added)).toBe('reloaded workflows/more.workflow.ts');
      expect(await files(() => workspace.remove('workflows/more.workflow.ts'))).toBe(
        'removed workflows/more.workflow.ts',
      );
      const text = 'deep-agents/echo/instructions.md';
      expect(await files(() => workspace.write(text, 'Be kind.\n'))).toBe(`reloaded ${text}`);
      expect(said.join('\n')).not.toMatch(/tt\/w|tsconfig|svc\.json/);

      const before = said.length;
      workspace.edit('src/schema.ts', 'name: text().notNull(),', 'label: text().notNull(),');
      await heard(/src\/schema\.ts is not applied/, before);
      expect(await files(() => workspace.edit('lib/word.ts', 'word-2', 'word-3'))).toBe('reloaded lib/word.ts');
      expect(said.slice(before).filter((line) => /reloaded.*schema/.test(line))).toEqual([]);
      expect(await files(() => workspace.edit('src/schema.ts', 'label', 'name'))).toBe('reloaded src/schema.ts');
    },
    SLOW_MS,
  );

  it(
    'says nothing of a reload that its end cuts off',
    async () => {
      const workspace = await rig.workspace();
      const { server, said } = await boot(workspace);
      const before = said.length;
      const slow = `import { existsSync, writeFileSync } from 'node:fs';
writeFileSync(${JSON.stringify(workspace.path('.svc/begun'))}, '');
while (!existsSync(${JSON.stringify(workspace.path('.svc/go'))})) await new Promise((done) => setTimeout(done, 100));
export const word = 'late';
`;
      workspace.write('lib/word.ts', slow);
      await eventually(() => existsSync(workspace.path('.svc/begun')), SOON);
      const closed = server.close();
      // The stores are closed by then, or about to be.
      await eventually(() => isFree(workspace.ports.objects), SOON);
      workspace.write('.svc/go', '');
      await closed;
      expect(said.slice(before)).toEqual([]);
    },
    SLOW_MS,
  );

  it(
    'gives one piece of advice for a port that is taken, which moves that port',
    async () => {
      const workspace = await rig.workspace();
      const refused = async (port: number, given: number | undefined) => {
        const release = await occupy(port);
        const error = await boot(workspace, given === undefined ? {} : { port: given }).catch(
          (caught: unknown) => caught,
        );
        await release();
        return error;
      };
      const { api, database, objects } = workspace.ports;
      const shift = 'Stop the other process, or move every port of this box: change SVC_DEV_PORT_OFFSET.';
      for (const port of [api, database, objects])
        expect(await refused(port, undefined)).toMatchObject({
          code: 'generic',
          message: expect.stringMatching(new RegExp(`^Port ${port} is in use[^.]*\\.$`)),
          suggestion: shift,
          details: { port },
        });
      expect(await refused(database, api + 1)).toMatchObject({ suggestion: shift });
      expect(await refused(api + 1, api + 1)).toMatchObject({
        message: `Port ${api + 1} is in use.`,
        suggestion: 'Stop the other process, or name another one with --port.',
      });
    },
    SLOW_MS,
  );
});
