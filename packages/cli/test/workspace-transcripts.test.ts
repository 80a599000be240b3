import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { it } from 'vitest';
import { makeProject } from './_setup.ts';
import { settleIds, startTranscript, WIDTHS } from './_transcript.ts';
import type { Transcript } from './_transcript.ts';

const SMALL = fileURLToPath(new URL('./e2e/fixtures/small', import.meta.url));
const MODULES = fileURLToPath(new URL('../../../playground/node_modules', import.meta.url));
const RUNTIME_MODULES = fileURLToPath(new URL('../../runtime/node_modules', import.meta.url));
const LONG_MS = 120_000;

it.each(WIDTHS)(
  'the verbs of a workspace print this at %i columns',
  async (columns) => {
    const cwd = await makeWorkspace();
    const none = await makeProject();
    rmSync(join(none, 'workflows'), { recursive: true });
    // As wide as what they stand for: lines are broken by width.
    const settle = (text: string) =>
      settleIds(text.replaceAll(cwd, '/home/ada/work/shop').replaceAll(none, '/home/ada/work/none'))
        .replaceAll(/\b\d{14}_/g, '20260131120000_')
        .replaceAll(/(?<=^ {2}dist\/.*)\b[\da-f]{8,}\b/gm, 'abcdef12');
    const transcript = startTranscript({ columns, cwd, settle });
    await runOutside(transcript, none);
    await runCompile(transcript, cwd);
    await runSchema(transcript, cwd);
    await transcript.run(['complete']);
    await transcript.run(['complete', 'tcsh']);
    await transcript.expectFile('workspace');
  },
  LONG_MS,
);

// --- internal ---

async function makeWorkspace(): Promise<string> {
  const root = await makeProject();
  cpSync(SMALL, root, { recursive: true });
  mkdirSync(join(root, 'node_modules'));
  symlinkSync(join(MODULES, 'zod'), join(root, 'node_modules/zod'));
  symlinkSync(join(RUNTIME_MODULES, 'drizzle-orm'), join(root, 'node_modules/drizzle-orm'));
  return root;
}

/** A folder that is no workspace. */
async function runOutside(transcript: Transcript, cwd: string): Promise<void> {
  const verbs = [
    'dev',
    'build',
    'package',
    'start',
    'check',
    'schema status',
    'contract validate',
    'add agent support',
  ];
  for (const verb of verbs) await transcript.run(verb.split(' '), { cwd });
  await transcript.run(['replay', 'run.json'], { cwd });
  await transcript.run(['runs', 'list'], { cwd, env: { SVC_DEV_PORT_OFFSET: '40000' } });
  await transcript.run(['runs', 'list', '--url', 'box'], { cwd });
}

async function runCompile(transcript: Transcript, cwd: string): Promise<void> {
  const write = (file: string, text: string) => writeFileSync(join(cwd, file), text);
  await transcript.run(['check']);
  await transcript.run(['contract', 'validate']);
  await transcript.run(['add', 'deep-agent', 'helper']);
  await transcript.run(['add', 'workflow-agent', 'guide']);
  await transcript.run(['add', 'workflow-agent', 'guide']);
  await transcript.run(['add', 'workflow', 'ask', '--calls', 'helpr']);
  await transcript.run(['add', 'workflow', '../ask']);
  await transcript.run(['build', './nowhere']);
  await transcript.run(['start']);
  await transcript.run(['build']);
  await transcript.run(['build', '--out', 'lib']);
  await transcript.run(['build', '--out', 'svc.json']);
  await transcript.run(['package']);
  await transcript.run(['package', '--target', 'self-host', '--tag', 'shop:1.4']);
  await transcript.run(['package', '--target', 'kubernetes']);
  await transcript.run(['package', '--out-dir', 'lib']);
  await transcript.run(['package', '--base-archive', 'base.tar']);
  write('workflows/lost.workflow.ts', `import './nowhere.ts';\nexport async function lost() {\n  'use workflow';\n}\n`);
  await transcript.run(['build']);
  await transcript.run(['check']);
  rmSync(join(cwd, 'workflows/lost.workflow.ts'));
  write('deep-agents/helper/index.ts', 'export default {;\n');
  await transcript.run(['build']);
  rmSync(join(cwd, 'deep-agents/helper'), { recursive: true });
  write('svc.json', '{ "slug": "My Shop" }\n');
  await transcript.run(['build']);
  write('svc.json', '{ "slug": "shop" }\n');
}

const users = (columns: string): string => `import { integer, pgTable, text } from 'drizzle-orm/pg-core';
export const users = pgTable('users', { id: integer().primaryKey(), ${columns} });
`;

async function runSchema(transcript: Transcript, cwd: string): Promise<void> {
  const write = (columns: string) => writeFileSync(join(cwd, 'src/schema.ts'), users(columns));
  await transcript.run(['schema', 'status']);
  await transcript.run(['schema', 'generate']);
  mkdirSync(join(cwd, 'src'));
  write('name: text()');
  await transcript.run(['schema', 'status']);
  await transcript.run(['schema', 'generate']);
  await transcript.run(['schema', 'generate']);
  write('fullName: text()');
  await transcript.run(['schema', 'generate']);
  await transcript.run(['schema', 'generate', '--rename', 'users.nme=users.fullName']);
  await transcript.run(['schema', 'generate', '--rename', 'users.name=users.fullName']);
  await transcript.run(['schema', 'apply']);
  await transcript.run(['schema', 'apply']);
  await transcript.run(['schema', 'status']);
}
