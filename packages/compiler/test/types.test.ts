import { readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { syncWorkspace } from '../src/sync.ts';
import { copyFixture, writeFile } from './_setup.ts';
import { typecheck } from './_typecheck.ts';

/** The part of the runtime the generated files speak to, laid out as its own `index.ts` and `register.ts`. */
const RUNTIME = {
  'runtime/register.ts': `
    export interface AgentRegister {}
    export interface WorkflowRegister {}
    export interface ConfigRegister {}
    export interface ConnectRegister {}
    export interface PromptRegister {}
    export interface SecretRegister {}
  `,
  'runtime/index.ts': `
    import type { AgentRegister, WorkflowRegister, ConfigRegister, ConnectRegister, PromptRegister, SecretRegister } from './register.js';
    export type { AgentRegister, WorkflowRegister, ConfigRegister, ConnectRegister, PromptRegister, SecretRegister } from './register.js';
    export declare function secret(name: [keyof SecretRegister & string] extends [never] ? string : keyof SecretRegister & string): void;
    export declare function prompt(key: [keyof PromptRegister & string] extends [never] ? string : keyof PromptRegister & string): void;
    export declare function defineConfig<const S extends string = never, const P extends string = never>(config: { model?: string; secrets?: readonly S[]; prompts?: readonly P[] }): { model?: string; secrets?: readonly S[]; prompts?: readonly P[] };
    export declare function connection<K extends keyof ConnectRegister>(id: K): void;
    export declare function start<K extends keyof WorkflowRegister>(name: K, input: WorkflowRegister[K]['input']): Promise<WorkflowRegister[K]['output']>;
    export declare function agent<K extends keyof AgentRegister>(name: K): AgentRegister[K];
    export declare function config<K extends keyof ConfigRegister>(key: K): ConfigRegister[K];
    export declare function sleep(time: string): Promise<void>;
    export declare function defineDynamicConfig<const S>(schemas: S): S;
    export declare function defineDeepAgent<const T extends { name: string }>(options: T): T;
  `,
};

/** One rolled-up declaration file, as a build of the runtime ships it. */
const ROLLED_UP = {
  'runtime/index.d.mts': `
    interface AgentRegister {}
    interface WorkflowRegister {}
    interface ConfigRegister {}
    interface ConnectRegister {}
    interface PromptRegister {}
    interface SecretRegister {}
    declare function start<K extends keyof WorkflowRegister>(name: K, input: WorkflowRegister[K]['input']): Promise<WorkflowRegister[K]['output']>;
    declare function agent<K extends keyof AgentRegister>(name: K): AgentRegister[K];
    declare function config<K extends keyof ConfigRegister>(key: K): ConfigRegister[K];
    declare function sleep(time: string): Promise<void>;
    declare function defineDynamicConfig<const S>(schemas: S): S;
    declare function defineDeepAgent<const T extends { name: string }>(options: T): T;
    export { type AgentRegister, type WorkflowRegister, type ConfigRegister, type ConnectRegister, type PromptRegister, type SecretRegister, agent, config, defineDeepAgent, defineDynamicConfig, sleep, start };
  `,
};

const USE = `
  import { agent, config, start } from '@svc/runtime';
  import type { WorkflowRegister } from '@svc/runtime';
  import { sleep } from 'workflow';
  import { start as startToo } from 'workflow/api';

  type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
  const isTrue = <T extends true>(): T | undefined => undefined;

  const onboarded = await start('onboard', { email: 'a@example.com' });
  isTrue<Equal<typeof onboarded, { id: string }>>();
  const arrow = await startToo('arrow', { email: 'a@example.com', seats: 2 });
  isTrue<Equal<typeof arrow, { id: string }>>();
  const plain = await start('plain', 3);
  isTrue<Equal<typeof plain, { total: number; label: string | undefined }>>();
  const empty: void = await start('empty', undefined);
  isTrue<Equal<ReturnType<typeof agent<'support'>>['name'], 'support'>>();
  isTrue<Equal<ReturnType<typeof agent<'billing'>>['name'], 'billing'>>();
  isTrue<Equal<ReturnType<typeof config<'greeting'>>, string>>();
  isTrue<Equal<ReturnType<typeof config<'limit'>>, number>>();
  isTrue<Equal<WorkflowRegister['onboard']['state'], { sent: number; note: string }>>();
  isTrue<Equal<WorkflowRegister['plain']['state'], unknown>>();
  await sleep('1s');
  export { empty };
`;

const MISUSE = `
  import { agent, config, start } from '@svc/runtime';

  void start('onbord', { email: 'a@example.com' });
  void start('onboard', { mail: 'a@example.com' });
  void start('plain', 'three');
  void agent('suport');
  void config('greting');
`;

const CONFIG = `
  import { z } from 'zod';
  import { defineDynamicConfig } from '@svc/runtime';
  export default defineDynamicConfig({ greeting: z.string().default('Hello'), limit: z.number().default(3) });
`;

const RESOLUTIONS = [
  { module: 'NodeNext', moduleResolution: 'NodeNext' },
  { module: 'ESNext', moduleResolution: 'Bundler' },
];

interface Case {
  files: Record<string, string>;
  runtime?: Record<string, string>;
  resolution?: object;
  zod?: string;
  /** Checks the generated files themselves as well, which `skipLibCheck` would pass over. */
  isStrict?: boolean;
}

/** What `tsc` says about the good fixture with these files beside it. */
async function compile({
  files,
  runtime = RUNTIME,
  resolution = RESOLUTIONS[1],
  zod = 'zod',
  isStrict,
}: Case): Promise<string[]> {
  const root = copyFixture('good');
  const entry = Object.keys(runtime).find((file) => file.includes('/index.'));
  const base = { target: 'ES2023', lib: ['ES2023'], types: [], strict: true, noEmit: true, skipLibCheck: true };
  const paths = { '@svc/runtime': [`./${entry}`], zod: [`./node_modules/${zod}`] };
  const options = { ...base, paths, ...resolution };
  const config = { compilerOptions: options, include: ['.svc/*.ts', 'use.ts'] };
  const texts = { ...runtime, 'config.schema.ts': CONFIG, 'package.json': '{ "type": "module" }', ...files };
  for (const [file, text] of Object.entries(texts)) writeFile(root, file, text);
  // A folder that begins with a dot is only included by a pattern: `.svc` alone finds nothing.
  writeFile(root, 'tsconfig.json', JSON.stringify(config));
  await syncWorkspace({ root });
  if (isStrict) uncoverErrors(join(root, '.svc'));
  return typecheck(root)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(' '));
}

/** As a `.ts` file a declaration file is checked like any other; `modules.d.ts` may only be one. */
function uncoverErrors(folder: string): void {
  for (const file of readdirSync(folder)) {
    if (!file.endsWith('.d.ts') || file === 'modules.d.ts') continue;
    renameSync(join(folder, file), join(folder, file.replace('.d.ts', '.ts')));
  }
}

describe('the generated types', () => {
  it('name every connection, and no other', async () => {
    const declared = { 'connections/crm.connection.ts': 'export default {};' };
    const use = (id: string) => `import { connection } from '@svc/runtime';\nconnection('${id}');\n`;
    expect(await compile({ files: { ...declared, 'use.ts': use('crm') }, isStrict: true })).toEqual([]);
    expect(await compile({ files: { ...declared, 'use.ts': use('crmm') } })).toEqual([
      expect.stringContaining(`'"crmm"' is not assignable to parameter of type '"crm"'`),
    ]);
  });

  it('name every secret that svc.config.ts lists, and any where it lists none', async () => {
    const use = { 'use.ts': `import { secret } from '@svc/runtime';\nsecret('BANK_KEY');\n` };
    const config = (text: string) => ({
      ...use,
      'svc.config.ts': `import { defineConfig } from '@svc/runtime';\nexport default ${text};\n`,
    });
    const listed = config(`defineConfig({ secrets: ['MAIL_KEY', 'BANK_KEY'] })`);
    expect(await compile({ files: listed, isStrict: true })).toEqual([]);
    expect(await compile({ files: config(`defineConfig({ secrets: ['MAIL_KEY', 'BANK'] })`) })).toEqual([
      expect.stringContaining(`'"BANK_KEY"' is not assignable to parameter of type '"MAIL_KEY" | "BANK"'`),
    ]);
    for (const files of [use, config(`defineConfig({ model: 'm' })`), config(`{ secrets: ['MAIL_KEY'] }`)])
      expect(await compile({ files, isStrict: true })).toEqual([]);
  });

  it('name every key of a prompt that svc.config.ts lists, and any where it lists none', async () => {
    const use = { 'use.ts': `import { prompt } from '@svc/runtime';\nprompt('greeting');\n` };
    const config = (text: string) => ({
      ...use,
      'svc.config.ts': `import { defineConfig } from '@svc/runtime';\nexport default ${text};\n`,
    });
    const listed = config(`defineConfig({ secrets: ['MAIL_KEY'], prompts: ['greeting', 'farewell'] })`);
    expect(await compile({ files: listed, isStrict: true })).toEqual([]);
    expect(await compile({ files: config(`defineConfig({ prompts: ['greet', 'farewell'] })`) })).toEqual([
      expect.stringContaining(`'"greeting"' is not assignable to parameter of type '"greet" | "farewell"'`),
    ]);
    for (const files of [use, config(`defineConfig({ secrets: ['A'] })`), config(`{ prompts: ['greet'] }`)])
      expect(await compile({ files, isStrict: true })).toEqual([]);
  });

  it.each(RESOLUTIONS)(
    'compile under $moduleResolution and name every agent, workflow and value',
    async (resolution) => {
      expect(await compile({ files: { 'use.ts': USE }, resolution, isStrict: true })).toEqual([]);
    },
  );

  it('add to the registers of a built runtime', async () => {
    expect(await compile({ files: { 'use.ts': USE }, runtime: ROLLED_UP })).toEqual([]);
  });

  it('read the schemas of zod 3', async () => {
    expect(await compile({ files: { 'use.ts': USE }, zod: 'zod3' })).toEqual([]);
  });

  it('let workflows start each other without saying what they return', async () => {
    const files = Object.fromEntries(
      [
        ['a', 'b'],
        ['b', 'c'],
        ['c', 'a'],
      ].map(([name, other]) => [
        `workflows/circle-${name}.workflow.ts`,
        `import { start } from '@svc/runtime';
        export async function ${name}(n: number) {
          'use workflow';
          if (n > 0) await start('circle-${name}', n - 1);
          const inner = await start('circle-${other}', n);
          return ${name === 'a' ? 'inner.from' : `{ from: '${name}' as const }`};
        }`,
      ]),
    );
    const use = `import { start } from '@svc/runtime';\nexport const from: 'b' = await start('circle-a', 1);\n`;
    expect(await compile({ files: { ...files, 'use.ts': use }, isStrict: true })).toEqual([]);
  });

  it('make a wrong name or payload an error', async () => {
    const errors = await compile({ files: { 'use.ts': MISUSE } });
    expect(errors.map((line) => /^use\.ts\((\d+),/.exec(line)?.[1])).toEqual(['4', '5', '6', '7', '8']);
  });

  it('keep the name of an entry that does not load', async () => {
    const files = {
      'workflows/broken.workflow.ts': 'export async function broken() {\n',
      'use.ts': `import { start } from '@svc/runtime';\nvoid start('broken', { anything: 1 });\n`,
    };
    const errors = await compile({ files });
    expect(errors.filter((line) => !line.startsWith('workflows/broken'))).toEqual([]);
  });
});
