import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contractPayload } from '@svc/runtime/host';
import type { Contract } from '@svc/runtime/host';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runCli } from './_run.ts';
import { makeProject, readDocument, readError, startBox } from './_setup.ts';

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

  it('names no copilot of the workspace among its agents, as svc check does not', async () => {
    const text = `import { defineDeepAgent } from '@svc/runtime';\nexport default defineDeepAgent({ name: 'studio-copilot' });\n`;
    const cwd = await makeWorkspace({ 'deep-agents/studio-copilot/index.ts': text });
    for (const verb of ['build', 'check'])
      expect(readDocument(await runCli([verb, '--json'], { cwd }))).toMatchObject({ deepAgents: ['echo'] });
    const manifest = readFileSync(join(cwd, 'dist/workspace/manifest.json'), 'utf8');
    expect(manifest).toContain('studio-copilot');
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

  it('looks at types with --deep alone', async () => {
    const bad = `export async function keeps() {\n  'use workflow';\n  return keep(() => 1);\n}\nasync function keep(value: () => number) {\n  'use step';\n  return value();\n}\n`;
    const cwd = await makeWorkspace({ 'workflows/keeps.workflow.ts': bad });
    expect(await runCli(['check', '--json'], { cwd })).toMatchObject({ exitCode: 0 });
    const problem = {
      code: 'value_not_recordable',
      file: 'workflows/keeps.workflow.ts',
      line: 5,
      message: expect.stringContaining('"value" of the step "keep" cannot be recorded: it is a function.'),
    };
    expect(readError(await runCli(['check', '--deep', '--json'], { cwd }))).toMatchObject({
      code: 'check_failed',
      details: { problems: [problem] },
    });
  });

  it('names a step that is not awaited, in a workflow that builds and runs', async () => {
    const floating = `export async function floats() {\n  'use workflow';\n  note();\n}\nasync function note() {\n  'use step';\n}\n`;
    const cwd = await makeWorkspace({ 'workflows/floats.workflow.ts': floating });
    const checked = await runCli(['check'], { cwd });
    expect(checked).toMatchObject({ exitCode: 1, stdout: '' });
    expect(checked.stderr).toContain(
      'note() is not awaited. The workflow goes on without it, and does not see it fail',
    );
    expect(checked.stderr).toContain('> 3 |   note();');
    expect(readDocument(await runCli(['build', '--json'], { cwd }))).toMatchObject({
      workflows: expect.arrayContaining(['floats']),
      degradedWorkflows: [],
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

const AGENT = 'deep-agents/echo/index.ts';
const DEFINE = `import { defineDeepAgent } from '@svc/runtime';\n`;
const BAD_SCHEMA = `export const inputSchema = { a: 1 };\nexport async function bs() {\n  'use workflow';\n}\n`;

describe('what does not build or load', () => {
  const FAULTS: [string, Record<string, string>, object][] = [
    [
      'svc.config.ts that does not parse',
      { 'svc.config.ts': 'export default {;\n' },
      { code: 'syntax_error', file: 'svc.config.ts', line: 1 },
    ],
    [
      'svc.config.ts that exports no settings',
      { 'svc.config.ts': '\nexport default 5;\n' },
      { code: 'module_load_failed', file: 'svc.config.ts', line: 2, frame: expect.stringContaining('> 2 | export') },
    ],
    [
      'svc.config.ts with a setting that makes no sense',
      { 'svc.config.ts': 'export default { retention: { runDays: -1 } };\n' },
      {
        code: 'module_load_failed',
        file: 'svc.config.ts',
        message: expect.stringContaining('retention.runDays is -1'),
      },
    ],
    [
      'svc.config.ts that imports a module which is not there',
      { 'svc.config.ts': `import './nowhere.ts';\nexport default {};\n` },
      { code: 'module_not_found', file: 'svc.config.ts', line: 1 },
    ],
    [
      'an agent that imports a module which is not there, when it is needed',
      {
        [AGENT]: `${DEFINE}export const late = () => import('./nowhere.ts');\nexport default defineDeepAgent({ name: 'echo' });\n`,
      },
      { code: 'module_not_found', file: AGENT, line: 2 },
    ],
    [
      'an agent that is none',
      { [AGENT]: '\nexport default 3;\n' },
      { code: 'module_load_failed', file: AGENT, line: 2, message: expect.stringContaining('is not an agent') },
    ],
    [
      'an agent that ends the process',
      { [AGENT]: `process.exit(0);\nexport default 1;\n` },
      { code: 'module_load_failed', file: AGENT, line: 1, message: expect.stringContaining('process.exit(0)') },
    ],
    [
      'config.schema.ts that exports no schemas',
      { 'config.schema.ts': 'export default 4;\n' },
      { code: 'module_load_failed', file: 'config.schema.ts', line: 1 },
    ],
  ];

  it.each(FAULTS)('%s is named by check and refused by build', async (_, files, problem) => {
    const cwd = await makeWorkspace(files);
    const checked = await runCli(['check', '--json'], { cwd });
    expect(checked.exitCode).toBe(1);
    expect(readError(checked)).toMatchObject({ code: 'check_failed', details: { problems: [problem] } });
    const built = await runCli(['build', '--json'], { cwd });
    expect(built.exitCode).toBe(1);
    expect(readError(built)).toMatchObject({ code: 'build_failed', details: { problems: [problem] } });
    expect(existsSync(join(cwd, 'dist'))).toBe(false);
  });

  it('a workflow whose inputSchema is none is named by check, and shipped degraded', async () => {
    const cwd = await makeWorkspace({ 'workflows/bs.workflow.ts': BAD_SCHEMA });
    const problem = {
      code: 'module_load_failed',
      message: expect.stringContaining('is not a zod schema'),
      file: 'workflows/bs.workflow.ts',
      line: 1,
      frame: expect.stringContaining('> 1 | export const inputSchema'),
    };
    const checked = await runCli(['check', '--json'], { cwd });
    expect(readError(checked)).toMatchObject({ code: 'check_failed', details: { problems: [problem] } });
    const built = await runCli(['build', '--json'], { cwd });
    expect(built.exitCode).toBe(0);
    expect(readDocument(built)).toMatchObject({
      workflows: ['five', 'gated', 'greet', 'nap'],
      degradedWorkflows: ['bs'],
      problems: [problem],
    });
  });

  const LATE = `export async function late() {\n  'use workflow';\n}\n`;
  const SCHEDULES: [string, string, object][] = [
    [
      'alone',
      `\nexport const schedules = [{ cron: '61 * * * *' }];\n`,
      { line: 5, column: 35, message: expect.stringContaining('"61 * * * *"') },
    ],
    [
      'one of several',
      `export const schedules = [\n  { cron: '0 9 * * *' },\n  { timeZone: 'UTC', cron: '0 0 30 2 *' },\n] as const;\n`,
      { line: 6, column: 28, frame: expect.stringContaining("> 6 |   { timeZone: 'UTC', cron: '0 0 30 2 *' },") },
    ],
    [
      'made elsewhere',
      `const every = [{ cron: 'never' }];\nexport const schedules = every;\n`,
      { line: 5, column: 26, message: expect.stringContaining('five fields') },
    ],
    [
      'assigned to the function',
      `late.schedules = [{ cron: '0 9 * * *', timeZone: 'Mars/Base' }];\n`,
      { line: 4, column: 27, message: expect.stringContaining('Mars/Base') },
    ],
    [
      'called as another',
      `export const schedules = [\n  { cron: '0 9 * * *', name: 'a' },\n  { cron: '1 9 * * *', name: 'a' },\n];\n`,
      { line: 6, message: expect.stringContaining('cannot have the name "a"') },
    ],
  ];

  it.each(SCHEDULES)('a schedule that cannot work is refused by check at its place: %s', async (_, text, place) => {
    const cwd = await makeWorkspace({ 'workflows/late.workflow.ts': LATE + text });
    const checked = await runCli(['check', '--json'], { cwd });
    expect(checked.exitCode).toBe(1);
    const problem = { code: 'module_load_failed', file: 'workflows/late.workflow.ts', ...place };
    expect(readError(checked)).toMatchObject({ code: 'check_failed', details: { problems: [problem] } });
  });

  it('an agent that throws in a module it imports is named by check and by build, and shipped', async () => {
    const cwd = await makeWorkspace({
      [AGENT]: `${DEFINE}import { key } from '../../lib/key.ts';\nexport default defineDeepAgent({ name: 'echo', instructions: key });\n`,
      'lib/key.ts': `const read = (): string => {\n  throw new Error('No key today.');\n};\n\nexport const key = read();\n`,
    });
    const problem = {
      code: 'module_load_failed',
      message: 'No key today.',
      file: 'lib/key.ts',
      line: 2,
      frame: expect.stringContaining('> 2 |   throw new Error('),
    };
    const checked = await runCli(['check', '--json'], { cwd });
    expect(readError(checked)).toMatchObject({ code: 'check_failed', details: { problems: [problem] } });
    const built = readDocument(await runCli(['build', '--json'], { cwd }));
    expect(built).toMatchObject({ deepAgents: expect.arrayContaining(['echo']), problems: [problem] });
  });

  it('of a workflow that throws here is no part of the bundle: elsewhere it may load', async () => {
    const throws = `if (!process.env['NOT_HERE']) throw new Error('NOT_HERE is not set.');\nexport async function env() {\n  'use workflow';\n}\n`;
    const cwd = await makeWorkspace({ 'workflows/env.workflow.ts': throws });
    const document = readDocument(await runCli(['build', '--json'], { cwd }));
    expect(document).toMatchObject({ degradedWorkflows: ['env'], problems: [{ message: 'NOT_HERE is not set.' }] });
    const text = readFileSync(join(cwd, 'dist/workspace/manifest.json'), 'utf8');
    const { workflows } = JSON.parse(text) as { workflows: { name: string; problem?: object }[] };
    expect(workflows.find(({ name }) => name === 'env')).not.toHaveProperty('problem');
  });

  it('is reported without what the modules print, and nothing is written', async () => {
    const cwd = await makeWorkspace({
      'lib/loud.ts': `console.log('loud');\n`,
      [AGENT]: `${DEFINE}import '../../lib/loud.ts';\nexport default defineDeepAgent({ name: 'echo' });\n`,
    });
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => write.mockRestore());
    const result = await runCli(['check', '--json'], { cwd });
    expect(result.exitCode).toBe(0);
    expect(readDocument(result)).toMatchObject({ problems: [] });
    expect(existsSync(join(cwd, 'dist'))).toBe(false);
  });
});

describe('svc.json', () => {
  it.each([
    ['{', /not usable/, /\w/],
    ['{ "slugg": "shop" }', /nothing reads its "slugg"/, /^Did you mean "slug"\?$/],
    [
      '{ "dev": { "automigrate": false } }',
      /nothing reads its "dev.automigrate"/,
      /^Did you mean "dev.autoMigrate"\?$/,
    ],
    ['{ "dev": { "autoMigrate": "no" } }', /"dev.autoMigrate" is "no"; use true or false/, /\w/],
    ['{ "dev": false }', /"dev" is false; use an object/, /\w/],
    ['{ "zzzzzz": 1 }', /nothing reads its "zzzzzz"/, /^Remove it\. svc\.json takes "slug" and "dev"\.$/],
  ])('%s is refused alike by check, build, dev and package', async (text, message, suggestion) => {
    const cwd = await makeWorkspace({ 'svc.json': text });
    for (const verb of ['check', 'build', 'dev', 'package']) {
      const result = await runCli([verb, '--json'], { cwd });
      expect([verb, result.exitCode]).toEqual([verb, 1]);
      expect(readError(result)).toMatchObject({
        code: 'manifest_invalid',
        message: expect.stringMatching(message),
        suggestion: expect.stringMatching(suggestion),
      });
    }
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

  it('exits with 1 and names the place of what a box does not offer, which another box does', async () => {
    const cwd = await makeWorkspace({
      'deep-agents/echo/index.ts': `import { defineDeepAgent, svc } from '@svc/runtime';\n\nexport const use = () => svc.storage;\nexport default defineDeepAgent({ name: 'echo' });\n`,
    });
    const validate = async (contract: Contract) => {
      const { url } = await startBox({ 'GET /api/contract': { body: contract } });
      return runCli(['contract', 'validate', '--url', url, '--json'], { cwd });
    };
    const without = await validate(contractPayload({ storage: false }));
    expect(without.exitCode).toBe(1);
    const { code, details } = readError(without) as { code: string; details: { problems: unknown[] } };
    expect(code).toBe('contract_invalid');
    expect(details.problems).toEqual([
      {
        code: 'capability_missing',
        message:
          'This uses svc.storage, which needs the capability "storage.s3". The box does not offer it: run a version that does, or leave it out.',
        file: 'deep-agents/echo/index.ts',
        line: 3,
        column: 26,
        frame: expect.stringContaining('> 3 | export const use = () => svc.storage;') as string,
      },
    ]);
    const whole = await validate(contractPayload());
    expect([whole.exitCode, readDocument(whole)]).toMatchObject([0, { needs: ['ai.modelgateway', 'storage.s3'] }]);
  });

  it('exits with 1 when the project has another version of the runtime', async () => {
    const cwd = await makeWorkspace({
      'node_modules/@svc/runtime/package.json': '{ "version": "9.9.9" }',
      'package.json': '{\n  "dependencies": {\n    "@svc/runtime": "9.9.9"\n  }\n}\n',
    });
    const result = await runCli(['contract', 'validate', '--json'], { cwd });
    expect(result.exitCode).toBe(1);
    expect(readError(result)).toMatchObject({
      details: { problems: [{ code: 'runtime_mismatch', line: 3, frame: expect.stringContaining('> 3 |') }] },
    });
  });
});
