import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { emitWorkflowsTypes } from '../../compiler/src/emit/workflows.ts';
import { toPublished } from '../../../scripts/_release.mjs';
import { call, setupBoxes } from '../../runtime/test/_setup.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PACKAGE = join(ROOT, 'packages/client');
const TSC = join(ROOT, 'node_modules/typescript-native/bin/tsc');
const run = promisify(execFile);
const boxes = setupBoxes();

const ASK = `
import { ClientError, createClient } from '@svc/client';

const client = createClient({ baseUrl: String(process.env.BOX), token: String(process.env.KEY) });
const started = await client.workflow('greet').start({ who: 'Ada' });
const { text } = await started.result();
const { name, status } = await client.call('runs.get', { id: String(started.runId) });
const refusal = await client.call('runs.get', { id: 'none' }).catch((error: unknown) => error);
const seen: string[] = [];
for await (const frame of client.stream('runs.state_stream', { id: String(started.runId) })) seen.push(frame.event);
console.log(JSON.stringify([text, name, status, refusal instanceof ClientError ? refusal.code : '', seen]));

// @ts-expect-error there is no such operation
export const wrongId = () => client.call('runs.gett', { id: 'r' });
// @ts-expect-error there is no such workflow
export const wrongName = () => client.workflow('greeet');
// @ts-expect-error it takes a text
export const wrongInput = () => client.workflow('greet').start({ who: 7 });
// @ts-expect-error it answers no such member
export const wrongOutput = async () => (await started.result()).words;
`;

/** What a front end in another repository says of the workspace, as docs/guide/api.md shows. */
const TYPES = `
import '@svc/client';

declare module '@svc/client' {
  interface WorkflowRegister {
    greet: { input: { who: string }; output: { text: string }; state: { at: number } };
  }
}
`;

const GREET = `
export async function greet({ who }: { who: string }) {
  'use workflow';
  return { text: who };
}
`;

const HOOKS = `
import { useRun, useRunStream, useWorkflow } from '@svc/client/react';

export function useGreeting(): string {
  const { start, run } = useWorkflow('greet');
  const other = useRun<'greet'>(run.runId);
  const { frames } = useRunStream<{ word: string }>(run.runId);
  const at: number | undefined = other.state?.at;
  void start({ who: 'Ada' });
  // @ts-expect-error it takes a text
  void start({ who: 7 });
  // @ts-expect-error it answers no such member
  void run.output?.words;
  return [run.output?.text, at, frames[0]?.word].join(' ');
}
`;

/** A folder with nothing but the package, as npm unpacks what is published. */
let folder = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-client-'));
  const { stdout } = await run(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--loglevel=silent', '--pack-destination', folder],
    {
      cwd: PACKAGE,
    },
  );
  const [packed] = JSON.parse(stdout) as { filename: string }[];
  const place = join(folder, 'node_modules/@svc/client');
  mkdirSync(place, { recursive: true });
  const tarball = String(packed?.filename).replace(/^@/, '').replace('/', '-');
  await run('tar', ['-xzf', join(folder, tarball), '-C', place, '--strip-components=1']);
  const manifest = toPublished(JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as never, {});
  writeFileSync(join(place, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'ask.ts'), ASK);
  writeFileSync(join(folder, 'box.d.ts'), TYPES);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const typecheck = (files: string[], ...more: string[]) =>
  run(
    process.execPath,
    [
      TSC,
      '--noEmit',
      '--strict',
      '--target',
      'es2023',
      '--module',
      'nodenext',
      '--jsx',
      'react-jsx',
      ...more,
      ...files,
    ],
    {
      cwd: folder,
    },
  ).catch((error: { stdout: string }) => error);

describe.skipIf(!existsSync(join(PACKAGE, 'dist/index.mjs')))('the published client, alone in a folder', () => {
  test('needs no other package, and is small', () => {
    expect(readdirSync(join(folder, 'node_modules'))).toEqual(['@svc']);
    const place = join(folder, 'node_modules/@svc/client');
    const manifest = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as object;
    expect(manifest).not.toHaveProperty('dependencies');
    const code = readdirSync(join(place, 'dist')).filter((name) => name.endsWith('.mjs'));
    // 32 KB and 14 KB of the hooks, as the guide says.
    expect(code.reduce((sum, name) => sum + statSync(join(place, 'dist', name)).size, 0)).toBeLessThan(60 * 1_024);
    for (const name of code.filter((each) => each !== 'react.mjs'))
      expect(readFileSync(join(place, 'dist', name), 'utf8')).not.toMatch(/from ["'](?!\.)|node:|Buffer\b|process\./);
  });

  test('has hooks that a bundler knows as those of a client, by their first statement', () => {
    const code = readFileSync(join(folder, 'node_modules/@svc/client/dist/react.mjs'), 'utf8');
    expect(code).toMatch(/^["']use client["'];/);
    expect(readFileSync(join(folder, 'node_modules/@svc/client/dist/index.mjs'), 'utf8')).not.toContain('use client');
  });

  test('is checked with all of its declarations, and knows ids, names, inputs and outputs', async () => {
    const types = ['--lib', 'es2023,dom,dom.iterable', '--typeRoots', './none'];
    writeFileSync(
      join(folder, 'globals.d.ts'),
      'declare const process: { env: Record<string, string | undefined> };\n',
    );
    expect((await typecheck(['ask.ts', 'box.d.ts', 'globals.d.ts'], ...types)).stdout).toBe('');
  });

  test('has hooks with the types of the workspace, once React is there', async () => {
    for (const name of ['react', '@types/react']) {
      const place = join(folder, 'with-react/node_modules', name);
      mkdirSync(join(place, '..'), { recursive: true });
      symlinkSync(join(PACKAGE, 'node_modules', name), place);
    }
    mkdirSync(join(folder, 'with-react/node_modules/@svc'));
    const place = join(folder, 'with-react/node_modules/@svc/client');
    await run('cp', ['-r', join(folder, 'node_modules/@svc/client'), place]);
    writeFileSync(join(folder, 'with-react/package.json'), '{ "type": "module" }');
    writeFileSync(join(folder, 'with-react/hooks.ts'), HOOKS);
    writeFileSync(join(folder, 'with-react/box.d.ts'), TYPES);
    const types = ['--lib', 'es2023,dom,dom.iterable', '--skipLibCheck'];
    expect((await typecheck(['with-react/hooks.ts', 'with-react/box.d.ts'], ...types)).stdout).toBe('');
  });

  test('has the names of a workspace in another folder, whose generated files it takes in', async () => {
    const modules = join(folder, 'box/node_modules/@svc');
    mkdirSync(modules, { recursive: true });
    await run('cp', ['-r', join(folder, 'node_modules/@svc/client'), join(modules, 'client')]);
    const runtime = join(ROOT, 'packages/runtime');
    mkdirSync(join(modules, 'runtime/dist'), { recursive: true });
    const { devDependencies: _, ...manifest } = JSON.parse(
      readFileSync(join(runtime, 'package.json'), 'utf8'),
    ) as object & {
      devDependencies: object;
    };
    writeFileSync(join(modules, 'runtime/package.json'), JSON.stringify(toPublished(manifest as never, {})));
    for (const name of readdirSync(join(runtime, 'dist')).filter((each) => each.endsWith('.d.mts')))
      symlinkSync(join(runtime, 'dist', name), join(modules, 'runtime/dist', name));
    writeFileSync(join(folder, 'box/package.json'), '{ "type": "module" }');
    const workflow = 'workflows/greet.workflow.ts';
    mkdirSync(join(folder, 'box/workflows'));
    mkdirSync(join(folder, 'box/.svc'));
    writeFileSync(join(folder, 'box', workflow), GREET);
    const entry = { name: 'greet', file: workflow, exportName: 'greet', hasInputSchema: false, hasOutputSchema: false };
    writeFileSync(join(folder, 'box/.svc/workflows.d.ts'), emitWorkflowsTypes({ workflows: [entry] } as never));
    writeFileSync(join(folder, 'box/.svc/modules.d.ts'), 'declare module "none" {}\n');
    const types = ['--lib', 'es2023,dom,dom.iterable', '--skipLibCheck', '--preserveSymlinks'];
    const files = ['ask.ts', 'globals.d.ts', 'box/.svc/workflows.d.ts'];
    expect((await typecheck(files, ...types)).stdout).toBe('');
  });

  test('starts a workflow of a box with an API key', async () => {
    const box = await boxes.open({
      workflows: {
        greet: {
          run: async (input: unknown) => ({ text: `Hello, ${(input as { who: string }).who}.` }),
        },
      },
    });
    const body = { name: 'k', grants: { agents: [], workflows: ['greet'] } };
    const key = (await call<{ value: string }>(box, 'POST /api/keys', body)).body;
    const { transform } = await import('vite').then(({ transformWithOxc }) => ({ transform: transformWithOxc }));
    writeFileSync(join(folder, 'ask.mjs'), (await transform(ASK, 'ask.ts')).code);
    const env = { PATH: process.env.PATH, BOX: await box.listen(), KEY: key.value };
    const { stdout } = await run(process.execPath, ['ask.mjs'], { cwd: folder, env });
    expect(JSON.parse(stdout)).toEqual(['Hello, Ada.', 'greet', 'completed', 'run_not_found', ['state', 'end']]);
  });
});
