import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { syncWorkspace } from '../src/sync.ts';
import { copyFixture, writeFile } from './_setup.ts';
import { typecheckOwn } from './_typecheck.ts';

const RUNTIME = fileURLToPath(new URL('../../runtime/src/index.ts', import.meta.url));

/** The agents ask each other in their tools, which must not make their types a circle. */
const AGENTS = {
  'deep-agents/typed/index.ts': `
    import { defineDeepAgent, defineTool, svc } from '@svc/runtime';
    import { z } from 'zod';

    const ask = defineTool({
      description: 'Asks.',
      inputSchema: z.object({ text: z.string() }),
      async execute({ text }) {
        const own = await svc.agent('typed').session().send(text);
        return (await svc.agent('circle').session().send(own.output.city)).text;
      },
    });
    export default defineDeepAgent({
      name: 'typed',
      tools: { ask },
      output: z.object({ city: z.string() }),
      subagents: ['support', { name: 'own', description: 'Of its own.', tools: { ask } }],
    });
  `,
  'deep-agents/circle/index.ts': `
    import { defineDeepAgent, defineTool, svc } from '@svc/runtime';
    import { z } from 'zod';

    export default defineDeepAgent({
      name: 'circle',
      tools: {
        ask: defineTool({
          description: 'Asks.',
          inputSchema: z.object({}),
          execute: async () => (await svc.agent('typed').session().send('x')).output.city,
        }),
      },
    });
  `,
};

const CONFIG = `
  import { defineDynamicConfig } from '@svc/runtime';
  import { z } from 'zod';

  export default defineDynamicConfig({ maxRefund: z.number().default(50), day: z.coerce.date().default(new Date(0)) });
`;

const IMPORT_ROWS = `
  import { svc } from '@svc/runtime';
  import { z } from 'zod';

  export const stateSchema = z.object({ done: z.number(), note: z.string().default('') });
  export async function importRows(rows: number) {
    'use workflow';
    svc.publish({ done: rows });
    return { rows };
  }
`;

const USE_RUNS = `
  import { findRun, getRun, Run } from '@svc/runtime';
  import type { WorkflowState } from '@svc/runtime';

  type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
  const isTrue = <T extends true>(): T | undefined => undefined;
  interface State { done: number; note: string }

  export async function use(id: string): Promise<void> {
    const run = getRun<'import-rows'>(id);
    const state = await run.getState();
    isTrue<Equal<typeof state, State | undefined>>();
    isTrue<Equal<Awaited<typeof run.returnValue>, { rows: number }>>();
    const found = await (await findRun('import-rows', id))?.getState();
    isTrue<Equal<typeof found, State | undefined>>();
    isTrue<Equal<WorkflowState<'import-rows'>, State>>();
    isTrue<Equal<WorkflowState<'plain'>, unknown>>();
    const general: Run = run;
    const unnamed = await general.getState();
    isTrue<Equal<typeof unnamed, unknown>>();
    const said = await getRun(id).getState<{ at: number }>();
    isTrue<Equal<typeof said, { at: number } | undefined>>();
    const byResult: Promise<number> = getRun<number>(id).returnValue;
    const byPlace: Run<string> = getRun(id);
    const any: Run<any> = getRun<any>(id);
    const wrap = <T>(of: string): Run<T> => getRun<T>(of);
    const byFunction = await findRun(async () => 1, id);
    isTrue<Equal<typeof byFunction, Run<number> | undefined>>();
    const byText = await findRun<number>('import-rows' as string, id);
    isTrue<Equal<typeof byText, Run<number> | undefined>>();
    // @ts-expect-error
    state?.doen;
    // @ts-expect-error
    const wrong: { done: string } | undefined = await run.getState();
    void [byResult, byPlace, any, wrap, wrong];
  }
`;

const USE = `
  import { defineDeepAgent, svc } from '@svc/runtime';
  import { z } from 'zod';

  export async function use(): Promise<void> {
    const typed = await svc.agent('typed').session('id').send('x');
    const city: string = typed.output.city;
    const plain = await svc.agent('support').session().send('x');
    const none: undefined = plain.output;
    const asked = await svc.agent('support').session().send('x', { schema: z.object({ n: z.number() }) });
    const n: number = asked.output.n;
    const most: number = await svc.config.get('maxRefund');
    const day: Date = await svc.config.get('day');
    // @ts-expect-error
    await svc.config.get('maxRefnd');
    // @ts-expect-error
    const text: string = await svc.config.get('maxRefund');
    // @ts-expect-error
    svc.agent('suport');
    // @ts-expect-error
    typed.output.town;
    // @ts-expect-error
    defineDeepAgent({ name: 'x', subagents: ['nobody'] });
    void [city, none, n, most, day, text];
  }
`;

it('a wrong name, key or value, or a member an answer or a state does not have, is a compile error', async () => {
  const root = copyFixture('good');
  const workflows = { 'workflows/import-rows.workflow.ts': IMPORT_ROWS, 'use-runs.ts': USE_RUNS };
  for (const [file, text] of Object.entries({ ...AGENTS, ...workflows, 'config.schema.ts': CONFIG, 'use.ts': USE }))
    writeFile(root, file, text);
  const paths = { '@svc/runtime': [RUNTIME], zod: ['./node_modules/zod'] };
  const compilerOptions = {
    target: 'ES2023',
    lib: ['ES2024', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable', 'ESNext.Disposable'],
    module: 'ESNext',
    moduleResolution: 'Bundler',
    allowImportingTsExtensions: true,
    types: ['node'],
    typeRoots: [join(RUNTIME, '../../../../node_modules/@types')],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    paths,
  };
  writeFile(root, 'package.json', '{ "type": "module" }');
  writeFile(
    root,
    'tsconfig.json',
    JSON.stringify({ compilerOptions, include: ['.svc/*.ts', 'deep-agents/**/*.ts', 'use.ts', 'use-runs.ts'] }),
  );
  await syncWorkspace({ root });
  expect(typecheckOwn(root)).toBe('');
}, 60_000);
