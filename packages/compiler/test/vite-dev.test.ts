import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { copyFixture, createWorkspace } from './_setup.ts';
import { installRuntime, startHost } from './_runtime.ts';

type Run = (...args: unknown[]) => Promise<unknown>;

describe('a workspace in the dev host', () => {
  it('runs a workflow whose steps go through the runtime under their ids', async () => {
    const runtime = installRuntime();
    const host = await startHost(copyFixture('good'));
    const { onboardWorkflow } = await host.import<{ onboardWorkflow: Run }>('workflows/onboard.workflow.ts');
    expect(await onboardWorkflow({ email: 'a@example.com' })).toEqual({ id: 'acct-a@example.com' });
    const file = 'workflows/onboard.workflow.ts';
    expect(runtime.calls.map(({ id }) => id)).toEqual([
      `${file}#createAccount`,
      'lib/mail.ts#sendMail',
      `${file}#notify`,
      `${file}#mailer.send`,
      `${file}#mailer.retry`,
      `${file}#Ledger.open`,
      `${file}#onboardWorkflow.nested`,
    ]);
    expect(runtime.marked.get(onboardWorkflow)).toBe('onboard');
  });

  it('sees an option that is set above its step', async () => {
    const runtime = installRuntime();
    const host = await startHost(copyFixture('good'));
    const { onboardWorkflow } = await host.import<{ onboardWorkflow: Run }>('workflows/onboard.workflow.ts');
    await onboardWorkflow({ email: 'a@example.com' });
    expect(runtime.calls[0]?.options).toEqual({ maxRetries: 5 });
  });

  it('marks a workflow that is exported by default or under another name', async () => {
    const runtime = installRuntime();
    const host = await startHost(copyFixture('good'));
    const plain = await host.import<{ default: Run }>('workflows/plain.workflow.ts');
    const arrow = await host.import<{ start: Run }>('workflows/arrow.workflow.ts');
    expect(runtime.marked.get(plain.default)).toBe('plain');
    expect(runtime.marked.get(arrow.start)).toBe('arrow');
  });

  it('hands every import form the one runtime of the host', async () => {
    const runtime = installRuntime();
    const forms = `
      import * as all from '@svc/runtime';
      import { sleep } from 'workflow';
      import * as internal from '@svc/runtime/internal';
      export { sleep as again } from 'workflow/api';
      export * from '@svc/runtime';
      export const found = [all.sleep, sleep, internal.callStep];
    `;
    const host = await startHost(createWorkspace({ 'forms.ts': forms }));
    const module = await host.import<Record<string, unknown>>('forms.ts');
    expect(module['found']).toEqual([runtime.index['sleep'], runtime.index['sleep'], runtime.internal['callStep']]);
    expect(module['again']).toBe(runtime.index['sleep']);
    expect(module['defineDeepAgent']).toBe(runtime.index['defineDeepAgent']);
  });

  it('says so when no runtime is there', async () => {
    const host = await startHost(createWorkspace({ 'a.ts': `import { sleep } from 'workflow';\nsleep('1s');\n` }));
    await expect(host.import('a.ts')).rejects.toThrow('There is no runtime in this process.');
  });

  it('points an error thrown in a step at its line and column', async () => {
    installRuntime();
    const code = [
      `import { sleep } from 'workflow';`,
      `interface Input { id: string }`,
      `export async function failWorkflow(input: Input) {`,
      `  'use workflow';`,
      `  await sleep('1s'); return charge(input.id);`,
      `}`,
      `charge.maxRetries = 0;`,
      `async function charge(id: string): Promise<{ id: string; rows: number[] }> {`,
      `  'use step';`,
      `  const rows: number[] = [1, 2].map((n) => n + id.length);`,
      `  if (rows.length) throw new Error('declined');`,
      `  return { id, rows };`,
      `}`,
    ].join('\n');
    const host = await startHost(createWorkspace({ 'workflows/fail.workflow.ts': code }));
    const { failWorkflow } = await host.import<{ failWorkflow: Run }>('workflows/fail.workflow.ts');
    const error = await failWorkflow({ id: 'x' }).catch((thrown: unknown) => thrown as Error);
    expect((error as Error).stack).toMatch(/fail\.workflow\.ts:11:26\)?\n/);
  });
});

describe('the transform cache', () => {
  const STEP = `export async function save(id: string) {\n  'use step';\n  return id;\n}\n`;

  it('serves a module that did not change and leaves modules without a directive out', async () => {
    installRuntime();
    const root = createWorkspace({ 'step.ts': STEP, 'plain.ts': 'export const a: number = 1;\n' });
    const cacheDir = join(root, '.svc/cache/transform');
    const first = await startHost(root, { cacheDir });
    await first.import('step.ts');
    await first.import('plain.ts');
    const [name, ...others] = readdirSync(cacheDir);
    expect(others).toEqual([]);
    const path = join(cacheDir, name ?? '');
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('step.ts#save', 'step.ts#cached'));
    const runtime = installRuntime();
    const second = await startHost(root, { cacheDir });
    const { save } = await second.import<{ save: Run }>('step.ts');
    await save('1');
    expect(runtime.calls[0]?.id).toBe('step.ts#cached');
  });

  it('forgets a module that changed', async () => {
    const runtime = installRuntime();
    const root = createWorkspace({ 'step.ts': STEP });
    const cacheDir = join(root, '.svc/cache/transform');
    await (await startHost(root, { cacheDir })).import('step.ts');
    writeFileSync(join(root, 'step.ts'), STEP.replace('save', 'store'));
    const { store } = await (await startHost(root, { cacheDir })).import<{ store: Run }>('step.ts');
    await store('1');
    expect(runtime.calls[0]?.id).toBe('step.ts#store');
    expect(readdirSync(cacheDir)).toHaveLength(1);
    expect(existsSync(join(cacheDir, 'step.ts'))).toBe(false);
  });
});
