import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { syncWorkspace } from '../src/sync.ts';
import { createWorkspace, writeFile } from './_setup.ts';

const workflow = (name: string) => `export async function ${name}() {\n  'use workflow';\n}\n`;

describe('a sync', () => {
  it('makes .svc and writes every file once', async () => {
    const root = createWorkspace({ 'workflows/a.workflow.ts': workflow('run') });
    const first = await syncWorkspace({ root });
    const files = [
      'agents.d.ts',
      'config.d.ts',
      'connect.d.ts',
      'database.d.ts',
      'manifest.json',
      'modules.d.ts',
      'prompts.d.ts',
      'secrets.d.ts',
      'workflows.d.ts',
    ];
    expect(first.written.sort()).toEqual(files.map((file) => `.svc/${file}`));
    expect(readdirSync(join(root, '.svc')).sort()).toEqual([...files, 'cache'].sort());
    const { ino } = statSync(join(root, '.svc/workflows.d.ts'));
    expect((await syncWorkspace({ root })).written).toEqual([]);
    expect(statSync(join(root, '.svc/workflows.d.ts')).ino).toBe(ino);
  });

  it('leaves the files alone when only a body changed', async () => {
    const root = createWorkspace({ 'workflows/a.workflow.ts': workflow('run') });
    await syncWorkspace({ root });
    writeFile(root, 'workflows/a.workflow.ts', workflow('run').replace(`';\n`, `';\n  return 1;\n`));
    expect((await syncWorkspace({ root })).written).toEqual([]);
  });

  it('loads the others when one entry is broken, and says where it is', async () => {
    const root = createWorkspace({
      'workflows/good.workflow.ts': workflow('run'),
      'workflows/broken.workflow.ts': `export async function run( {\n  'use workflow';\n}\n`,
    });
    const { manifest, problems } = await syncWorkspace({ root });
    const [broken, good] = manifest.workflows;
    expect(good).toMatchObject({ name: 'good', exportName: 'run' });
    expect(good).not.toHaveProperty('problem');
    expect(broken?.problem).toEqual(problems[0]);
    expect(broken?.problem?.frame).toContain(`> 2 |   'use workflow';`);
    expect(JSON.parse(readFileSync(join(root, '.svc/manifest.json'), 'utf8'))).toEqual(manifest);
  });

  it('names in every declaration file who wrote it', async () => {
    const root = createWorkspace();
    const { written } = await syncWorkspace({ root });
    for (const file of written.filter((one) => one.endsWith('.d.ts'))) {
      expect(readFileSync(join(root, file), 'utf8')).toMatch(/^\/\/ Written by svc/);
    }
  });
});
