import { existsSync } from 'node:fs';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contractPayload } from '@svc/runtime/host';
import { describe, expect, it } from 'vitest';
import { runCli } from '../src/main.ts';
import { makeProject, readDocument, readError } from './_setup.ts';

const FIXTURE = fileURLToPath(new URL('./e2e/fixtures/small', import.meta.url));
const PLAYGROUND = fileURLToPath(new URL('../../../playground', import.meta.url));

/** A copy of the small workspace with these files on top. */
async function makeWorkspace(files: Record<string, string> = {}): Promise<string> {
  const root = await makeProject();
  await cp(FIXTURE, root, { recursive: true });
  await mkdir(join(root, 'node_modules'));
  await symlink(join(PLAYGROUND, 'node_modules/zod'), join(root, 'node_modules/zod'));
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), text);
  }
  return root;
}

const NOT_COMPILING = `import './nowhere.ts';\nexport async function bad() {\n  'use workflow';\n}\n`;
const READS = `import { readFileSync } from 'node:fs';\nexport function load() {\n  return readFileSync('x', 'utf8');\n}\n`;
const NOT_REPLAYABLE = `import { load } from '../lib/load.ts';\nexport async function reads() {\n  'use workflow';\n  return load();\n}\n`;

describe('svc build', () => {
  it('answers what is in the bundle', async () => {
    const root = await makeWorkspace();
    const result = await runCli(['build', '--json'], { cwd: root });
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    const { files, ...rest } = readDocument(result) as { files: string[] };
    expect(rest).toEqual({
      schema_version: 1,
      outDir: join(root, 'dist/workspace'),
      workflows: ['five', 'gated', 'greet', 'nap'],
      deepAgents: ['echo'],
      degradedWorkflows: [],
      problems: [],
    });
    expect(files).toContain('manifest.json');
    for (const file of files) expect(existsSync(join(root, 'dist/workspace', file))).toBe(true);
  });

  it('names a workflow that does not compile and exits with 0', async () => {
    const cwd = await makeWorkspace({ 'workflows/bad.workflow.ts': NOT_COMPILING });
    const document = readDocument(await runCli(['build', '--json'], { cwd }));
    expect(document).toMatchObject({
      workflows: ['five', 'gated', 'greet', 'nap'],
      degradedWorkflows: ['bad'],
      problems: [{ code: 'module_not_found', file: 'workflows/bad.workflow.ts', line: 1 }],
    });
    const human = await runCli(['build'], { cwd });
    expect(human.exitCode).toBe(0);
    expect(human.stdout).toContain('does not run: bad');
    expect(human.stderr).toContain("> 1 | import './nowhere.ts';");
  });

  it('exits with 1 and shows the place when an agent does not compile', async () => {
    const cwd = await makeWorkspace({ 'deep-agents/echo/index.ts': 'export default {;\n' });
    const json = await runCli(['build', '--json'], { cwd });
    expect(json.exitCode).toBe(1);
    expect(readError(json)).toMatchObject({
      code: 'build_failed',
      suggestion: expect.stringMatching(/\w/),
      details: { problems: [{ code: 'syntax_error', file: 'deep-agents/echo/index.ts' }] },
    });
    const human = await runCli(['build'], { cwd });
    expect(human.stderr).toContain('> 1 | export default {;');
    expect(existsSync(join(cwd, 'dist'))).toBe(false);
  });

  it('replaces no folder that holds something else', async () => {
    const cwd = await makeWorkspace();
    const result = await runCli(['build', '--out', 'workflows', '--json'], { cwd });
    expect(result.exitCode).toBe(1);
    expect(readError(result)).toMatchObject({
      code: 'build_failed',
      message: expect.stringContaining('would be replaced'),
    });
    expect(existsSync(join(cwd, 'workflows/greet.workflow.ts'))).toBe(true);
  });

  it('builds the playground', async () => {
    const out = join(await makeProject(), 'out');
    const document = readDocument(await runCli(['build', PLAYGROUND, '--out', out, '--json']));
    expect(document).toMatchObject({ outDir: out, deepAgents: ['support'], degradedWorkflows: [], problems: [] });
  });
});

describe.each(['build', 'start', 'check', 'contract validate'])('svc %s', (verb) => {
  it('outside of a workspace exits with 3', async () => {
    const cwd = join(await makeProject(), 'workflows');
    const result = await runCli([...verb.split(' '), '--json'], { cwd });
    expect(result.exitCode).toBe(3);
    expect(readError(result)).toMatchObject({ code: 'no_project', suggestion: expect.stringContaining(`svc ${verb}`) });
  });
});

describe('svc start', () => {
  it('reports every broken variable at once and exits with 1', async () => {
    const cwd = await makeWorkspace();
    const env = { PORT: 'x' };
    const json = await runCli(['start', '--json'], { cwd, env });
    expect(json.exitCode).toBe(1);
    const { code, details } = readError(json) as { code: string; details: { variables?: { name: string }[] } };
    expect(code).toBe('environment_invalid');
    const names = ['DATABASE_URL', 'WORKFLOW_KV_URL', 'SVC_SECRET_KEY', 'PORT'];
    expect(details.variables?.map(({ name }) => name)).toEqual(names);
    const human = await runCli(['start'], { cwd, env });
    for (const name of names) expect(human.stderr).toContain(`\n  ${name} is `);
    expect(human.stderr).toContain('Make one: openssl rand -base64 32');
    expect(human.stderr).toContain('node_modules/@svc/cli/dist/docs/guide/deploy.md');
  });

  it('says that there is no bundle', async () => {
    const env = {
      DATABASE_URL: 'postgres://db/x',
      WORKFLOW_KV_URL: 'redis://kv',
      SVC_SECRET_KEY: Buffer.alloc(32).toString('base64'),
    };
    const result = await runCli(['start', '--json'], { cwd: await makeWorkspace(), env });
    expect(result.exitCode).toBe(1);
    expect(readError(result)).toMatchObject({
      code: 'bundle_invalid',
      suggestion: expect.stringContaining('svc build'),
    });
  });
});

describe('svc check', () => {
  it('exits with 0 where there is nothing wrong', async () => {
    const result = await runCli(['check', '--json'], { cwd: await makeWorkspace() });
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(readDocument(result)).toEqual({
      schema_version: 1,
      deepAgents: ['echo'],
      workflows: ['five', 'gated', 'greet', 'nap'],
      problems: [],
    });
  });

  it('exits with 1 and shows the way to a call that a replay cannot repeat', async () => {
    const cwd = await makeWorkspace({ 'lib/load.ts': READS, 'workflows/reads.workflow.ts': NOT_REPLAYABLE });
    const json = await runCli(['check', '--json'], { cwd });
    expect(json.exitCode).toBe(1);
    expect(readError(json)).toMatchObject({
      code: 'check_failed',
      details: { problems: [{ code: 'workflow_not_replayable', file: 'workflows/reads.workflow.ts', line: 4 }] },
    });
    const human = await runCli(['check'], { cwd });
    expect(human).toMatchObject({ exitCode: 1, stdout: '' });
    expect(human.stderr).toContain('load() at workflows/reads.workflow.ts:4 -> readFileSync() at lib/load.ts:3');
    expect(human.stderr).toContain('> 4 |   return load();');
  });
});

describe('svc contract validate', () => {
  it('answers what the workspace needs of the runtime it will run on', async () => {
    const result = await runCli(['contract', 'validate', '--json'], { cwd: await makeWorkspace() });
    expect(result.exitCode).toBe(0);
    expect(readDocument(result)).toEqual({
      schema_version: 1,
      valid: true,
      contract: contractPayload(),
      needs: ['ai.modelgateway'],
    });
  });

  it.skipIf(contractPayload().capabilities.includes('rag.basic'))(
    'exits with 1 and names the place of what the runtime does not offer',
    async () => {
      const cwd = await makeWorkspace({
        'deep-agents/echo/index.ts': `import { defineDeepAgent, svc } from '@svc/runtime';\n\nexport const use = () => svc.rag;\nexport default defineDeepAgent({ name: 'echo' });\n`,
      });
      const result = await runCli(['contract', 'validate', '--json'], { cwd });
      expect(result.exitCode).toBe(1);
      expect(readError(result)).toMatchObject({
        code: 'contract_invalid',
        details: { problems: [{ code: 'capability_missing', file: 'deep-agents/echo/index.ts', line: 3 }] },
      });
      expect((await runCli(['check', '--json'], { cwd })).exitCode).toBe(1);
    },
  );

  it('exits with 1 when the project has another version of the runtime', async () => {
    const cwd = await makeWorkspace({ 'node_modules/@svc/runtime/package.json': '{ "version": "9.9.9" }' });
    const result = await runCli(['contract', 'validate', '--json'], { cwd });
    expect(result.exitCode).toBe(1);
    expect(readError(result)).toMatchObject({ details: { problems: [{ code: 'runtime_mismatch' }] } });
  });
});
