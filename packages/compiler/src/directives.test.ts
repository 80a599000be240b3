import { SourceMap } from 'node:module';
import type { SourceMapPayload } from 'node:module';
import { describe, expect, it } from 'vitest';
import { transformDirectives } from './directives.ts';
import type { TransformResult } from './directives.ts';

async function transform(code: string, file = 'workflows/a.workflow.ts'): Promise<TransformResult> {
  const result = await transformDirectives({ code, file, id: `/box/${file}` });
  if (!result) throw new Error('The code was left as it is.');
  return result;
}

const at = (name: string) => `"workflows/a.workflow.ts#${name}"`;
const find = (code: string, file = 'lib/a.ts') => transformDirectives({ code, file, id: `/box/${file}` });

describe('the directive transform', () => {
  it('keeps a step function hoisted under its own name', async () => {
    const { code } = await transform(
      `f.maxRetries = 5;\nexport async function f(a: string): Promise<void> {\n  'use step';\n  a;\n}\n`,
    );
    expect(code).toBe(
      [
        'import * as __svc from "@svc/runtime/internal";',
        '__svc.registerStep(f, "workflows/a.workflow.ts#f");',
        'f.maxRetries = 5;',
        'export async function f(...args) {',
        '  return __svc.callStep("workflows/a.workflow.ts#f", f, f$step, this, args);',
        '}',
        'async function f$step(a: string): Promise<void> {',
        '  a;',
        '}',
      ].join('\n'),
    );
  });

  it('wraps arrows, expressions and methods where they stand', async () => {
    const { code } = await transform(
      [
        `export const a = async (x: number) => { 'use step'; return x; };`,
        `const b = async function () { 'use step'; } as Step;`,
        `const o = { async m() { 'use step'; return this; }, 'k v': async () => { 'use step'; } };`,
        `class C { static async s() { 'use step'; } async i() { 'use step'; return super.i(); } f = async () => { 'use step'; }; }`,
        `o.late = async () => { 'use step'; };`,
      ].join('\n'),
    );
    expect(code).toContain(`export const a = __svc.createStep(${at('a')}, async (x: number) => {`);
    expect(code).toContain(`const b = __svc.createStep(${at('b')}, async function () {}) as Step;`);
    expect(code).toContain(`m: __svc.createStep(${at('o.m')}, async function () {`);
    expect(code).toContain(`'k v': __svc.createStep(${at('o.k v')}, async () => {})`);
    expect(code).toContain(`this.s = __svc.createStep(${at('C.s')}, this.s);`);
    expect(code).toContain(`this.prototype.i = __svc.createStep(${at('C.i')}, this.prototype.i);`);
    expect(code).toContain(`f = __svc.createStep(${at('C.f')}, async () => {});`);
    expect(code).toContain(`o.late = __svc.createStep(${at('o.late')}, async () => {});`);
  });

  it('makes a class known that says how it is recorded, under a name of its own', async () => {
    const { code, steps } = await transform(
      [
        `import { WORKFLOW_SERIALIZE as S } from '@workflow/serde';`,
        `export class A { static [S](a: A) { return {}; } async save() { 'use step'; } }`,
        `const B = class { static [Symbol.for('workflow-serialize')] = (b: unknown) => b; };`,
        `class C { static other() { class A { static [S]() {} } return A; } }`,
      ].join('\n'),
      'lib/a.ts',
    );
    expect(code.match(/registerClass\(this, "[^"]*"\)/g)).toEqual([
      'registerClass(this, "lib/a.ts#A")',
      'registerClass(this, "lib/a.ts#B")',
      'registerClass(this, "lib/a.ts#A2")',
    ]);
    expect(steps.map(({ name }) => name)).toEqual(['A.save']);
  });

  it('writes `using` as try and finally, also in blocks and one after the other', async () => {
    const { code } = await transform(
      [
        `export async function w() {`,
        `  'use workflow';`,
        `  before();`,
        `  using a = make(), b = make();`,
        `  { await using c = later; }`,
        `  return help();`,
        `  function help() { return a; }`,
        `}`,
      ].join('\n'),
    );
    expect(code).not.toMatch(/\busing\b/);
    expect(code.replace(/\s+/g, ' ')).toContain(
      'before(); function help() { return a; } const a = make(); try { const b = make(); try { { const c = later; try {} finally { await c?.[Symbol.asyncDispose](); } } return help(); } finally { b?.[Symbol.dispose](); } } finally { a?.[Symbol.dispose](); }',
    );
  });

  it('gives its import and its implementations names that are free', async () => {
    const { code } = await transform(
      `const __svc = 1, args$step = __svc;\nasync function args() {\n  'use step';\n}\n`,
    );
    expect(code).toContain('import * as __svc1 from');
    expect(code).toContain(
      'args(...args_) {\n  return __svc1.callStep("workflows/a.workflow.ts#args", args, args$step1, this, args_);',
    );
  });

  it.each([
    ['a declaration', `export async function w() {\n  'use workflow';\n}`, 'w', 'w'],
    ['an arrow', `export const w = async () => {\n  'use workflow';\n};`, 'w', 'w'],
    ['a renamed export', `async function w() {\n  'use workflow';\n}\nexport { w as start };`, 'start', 'w'],
    ['a default export', `export default async function () {\n  'use workflow';\n}`, 'default', 'workflow1'],
    ['a default arrow', `export default async () => {\n  'use workflow';\n};`, 'default', 'workflow1'],
  ])('marks %s as the workflow of its file', async (_, source, exportName, local) => {
    const { code, workflows } = await transform(source);
    expect(workflows).toEqual([{ name: 'a', exportName }]);
    expect(code).toContain(`__svc.markWorkflow(${local}, "a");`);
    expect(code).not.toContain('use workflow');
  });

  it('remembers the file of a workflow that stands outside of workflows/', async () => {
    const source = `export async function w() { 'use workflow'; }\nasync function inner() { 'use workflow'; }\n`;
    const { code, workflows } = await transform(source, 'lib/a.ts');
    expect(workflows).toEqual([]);
    expect(code).toContain('__svc.markMisplaced(w, "lib/a.ts");');
    expect(code).not.toContain('(inner');
    expect(code).not.toContain('markWorkflow');
  });

  it('gives each of several workflows a name of its own, and the default export that of the file', async () => {
    const { code, workflows } = await transform(
      [
        `export async function sendReminderWorkflow() { 'use workflow'; }`,
        `export class Billing { static async chargeAll() { 'use workflow'; } static async note() { 'use step'; } }`,
        `export default async () => { 'use workflow'; };`,
      ].join('\n'),
    );
    expect(workflows.map(({ name }) => name)).toEqual(['send-reminder', 'billing-charge-all', 'a']);
    expect(code).toContain('__svc.markWorkflow(sendReminderWorkflow, "send-reminder");');
    expect(code).toContain('__svc.markWorkflow(this.chargeAll, "billing-charge-all");');
    expect(code).toContain('__svc.markWorkflow(workflow1, "a");');
  });

  it('makes a getter of a class a step', async () => {
    const { code, steps } = await transform(
      `class Cart { get total() { 'use step'; return 1; } static get all() { 'use step'; return 2; } }`,
    );
    expect(steps.map(({ name }) => name)).toEqual(['Cart.total', 'Cart.all']);
    expect(code).toContain(`__svc.createGetterStep(${at('Cart.total')}, this.prototype, "total");`);
    expect(code).toContain(`__svc.createGetterStep(${at('Cart.all')}, this, "all");`);
  });

  it('names the same steps as the scan', async () => {
    const source = `export async function w() {\n  'use workflow';\n  const inner = async () => {\n    'use step';\n  };\n}\n`;
    const { steps } = await transform(source);
    expect(steps).toEqual([{ id: 'workflows/a.workflow.ts#w.inner', name: 'w.inner', line: 3 }]);
  });

  it('splits steps that stand in a step or in a block', async () => {
    const { code } = await transform(
      `async function outer() {\n  'use step';\n  if (outer) {\n    async function inner() {\n      'use step';\n    }\n  }\n}\n`,
    );
    expect(code).toContain(`__svc.registerClosure(${at('outer.inner')}, ({}) => async function inner() {});`);
    expect(code).toMatch(/async function outer\$step\(\) \{\n  if \(outer\) \{/);
    expect(code).toContain(`return __svc.callStep(${at('outer.inner')}, inner, null, this, args);`);
  });

  it('hands what a step uses of the function around it to the step, which is made outside of it', async () => {
    const { code } = await transform(
      [
        `export async function w(base: number) { 'use workflow'; const rate = 2;`,
        `const times = async (n: number): Promise<number> => { 'use step'; return n > 9 ? times(n - 9) : base + n * rate; };`,
        `async function note() { 'use step'; return rate; }`,
        `return times(await note()); }`,
      ].join('\n'),
    );
    const bare = code.replace(/\s+/g, ' ');
    expect(bare).toContain(
      `__svc.registerClosure(${at('w.times')}, ({ base, rate }, times) => async (n: number): Promise<number> => {`,
    );
    expect(bare).toContain(`const times = __svc.createClosure(${at('w.times')}, () => ({ base, rate }));`);
    expect(bare).toContain(`__svc.registerStep(note, ${at('w.note')}, () => ({ rate }));`);
    expect(bare).toContain(`return __svc.callStep(${at('w.note')}, note, null, this, args, () => ({ rate }));`);
  });

  it('binds the functions that code hands on to the run that makes them', async () => {
    const { code } = await transform(
      [
        `import { far } from './far.ts';`,
        `export async function w(limit, queue, items) {`,
        `  'use workflow';`,
        `  await Promise.all(items.map((item) => limit(() => f(item))));`,
        `  queue.add(async function () { await f(1); }, { priority: 1 });`,
        `  await Promise.all(items.map((item) => f(item)));`,
        `  signal.addEventListener('abort', () => f(2));`,
        `  pick((item) => item.id);`,
        `  const task = () => f(3);`,
        `  const nothing = () => 4;`,
        `  await Promise.all([limit(task), limit(nothing), limit(f, 5), limit(far, items), limit(Shop.pay), limit(items), limit(w)]);`,
        `  items.map(f);`,
        `}`,
        `class Shop { static async pay() { 'use step'; } }`,
        `export async function f(a) { 'use step'; return retry(() => g(a)); }`,
        `const outside = run(() => g(1));`,
      ].join('\n'),
    );
    expect(code.match(/__svc\.bind\w+\(.*/g)).toEqual([
      '__svc.bindCallback(() => f(item)))));',
      '__svc.bindCallback(async function () {',
      '__svc.bindNamed(task)), limit(nothing), limit(__svc.bindStep(f), 5), limit(__svc.bindStep(far), items), limit(__svc.bindStep(Shop.pay)), limit(items), limit(w)]);',
      '__svc.bindCallback(() => g(a)));',
    ]);
  });

  it('has a run wait for what its functions import', async () => {
    const { code } = await transform(
      [
        `const top = await import('./top.ts');`,
        `export async function w(name) {`,
        `  'use workflow';`,
        `  const { rate } = await import('./rates.ts');`,
        `  const { more } = await import(await f(name));`,
        `  return f(rate, more, (await import(name)).default, limit(() => import('./late.ts')));`,
        `}`,
        `export async function f(a) { 'use step'; return a; }`,
      ].join('\n'),
    );
    expect(code).toContain(`const top = await import('./top.ts');`);
    expect(code).toContain(`} = await __svc.loadModule(() => import('./rates.ts'));`);
    expect(code).toContain('(await __svc.loadModule(() => import(name))).default');
    expect(code).toContain('} = await __svc.loadModule(given0 => import(given0), await f(name));');
    expect(code).toContain(`__svc.bindCallback(() => __svc.loadModule(() => import('./late.ts')))`);
  });

  it('leaves code without a directive alone', async () => {
    expect(await find('export const a = 1;\n')).toBeNull();
    expect(await find(`export const text = 'use step by step';\n`)).toBeNull();
    expect(await find(`async function w() {\n  'use workflow';\n}\n`)).toBeNull();
  });

  it('reads JSX where the ending allows it', async () => {
    const source = `export const a = <b>1</b>;\nexport async function f() {\n  'use step';\n}\n`;
    expect((await transform(source, 'lib/a.tsx')).steps).toHaveLength(1);
    await expect(find(source, 'lib/a.ts')).rejects.toThrow(SyntaxError);
  });

  it('maps every place of a body back to its line and column', async () => {
    const lines = [
      `type Row = { id: string };`,
      `export async function save(row: Row): Promise<Row> {`,
      `  'use step';`,
      `  const copy: Row = { ...row }; throw new Error(copy.id);`,
      `}`,
    ];
    const { code, map } = await transform(lines.join('\n'));
    expect(map.sources).toEqual(['/box/workflows/a.workflow.ts']);
    const output = code.split('\n');
    const line = output.findIndex((text) => text.includes('throw new Error'));
    const column = output[line]?.indexOf('new Error') ?? -1;
    const entry = new SourceMap(map as unknown as SourceMapPayload).findEntry(line, column);
    expect(entry).toMatchObject({ originalLine: 3, originalColumn: lines[3]?.indexOf('new Error') });
  });
});
