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

it('a wrong name, key or value, or a member an answer does not have, is a compile error', async () => {
  const root = copyFixture('good');
  for (const [file, text] of Object.entries({ ...AGENTS, 'config.schema.ts': CONFIG, 'use.ts': USE }))
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
    JSON.stringify({ compilerOptions, include: ['.svc/*.ts', 'deep-agents/**/*.ts', 'use.ts'] }),
  );
  await syncWorkspace({ root });
  expect(typecheckOwn(root)).toBe('');
}, 60_000);
