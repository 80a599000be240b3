import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, useRig } from './_setup.ts';
import type { Box, Workspace } from './_setup.ts';

const rig = useRig();
let workspace: Workspace;
let box: Box;

const LOADS = `import { sleep } from '@svc/runtime';
export async function run() {
  'use workflow';
  const { word } = await import('../lib/lazy.ts');
  await sleep(1);
  const again = await import('../lib/lazy.ts');
  return [word, again.word, again.early];
}
`;

const FAILS = `import { decline } from '../lib/decline.ts';
type Order = { id: string };

export async function run() {
  'use workflow';
  return pay({ id: 'a' });
}

async function pay(order: Order) {
  'use step';
  try {
    decline(order.id);
  } catch (cause) {
    throw Object.assign(new Error('not paid', { cause }), { fatal: true, order });
  }
}
`;

const THROWS = `interface Input {
  text?: string;
}

export async function run(input: Input) {
  'use workflow';
  throw new TypeError('in the body ' + (input.text ?? ''));
}
`;

const DECLINE = `export interface Card {
  id: string;
}

export function decline(id: Card['id']): never {
  throw new RangeError('declined ' + id);
}
`;

beforeAll(async () => {
  workspace = await rig.workspace({
    'workflows/loads.workflow.ts': LOADS,
    'workflows/fails.workflow.ts': FAILS,
    'workflows/throws.workflow.ts': THROWS,
    'lib/lazy.ts': `export const word = 'lazy';\nexport const early = await new Promise((resolve) => setTimeout(resolve, 1, 'set by a timer'));\n`,
    'lib/decline.ts': DECLINE,
  });
  box = await workspace.boot();
});

describe('a workflow body', () => {
  it('loads a module of the workspace when it gets there, and the module may do what modules do', async () => {
    const { runId } = await box.start('loads', {});
    expect(await box.finish(runId)).toMatchObject({
      status: 'completed',
      output: ['lazy', 'lazy', 'set by a timer'],
    });
  });

  it('loads it again after an edit', async () => {
    workspace.edit('lib/lazy.ts', `'lazy'`, `'lazier'`);
    await eventually(async () => {
      const { output } = await box.finish((await box.start('loads', {})).runId);
      return (output as string[])[0] === 'lazier';
    });
  });
});

describe('the stack of an error points at the line the author wrote', () => {
  const lines = (file: string, text: string) =>
    `${file}:${workspace.read(file).slice(0, workspace.read(file).indexOf(text)).split('\n').length}:`;

  it('in a step, and in the module its cause comes from', async () => {
    const { runId } = await box.start('fails', {});
    const { error } = await box.finish(runId);
    expect(error).toMatchObject({
      message: 'not paid',
      stack: expect.stringContaining(lines('workflows/fails.workflow.ts', 'throw Object')) as string,
      details: { order: { id: 'a' } },
      cause: {
        name: 'RangeError',
        message: 'declined a',
        stack: expect.stringContaining(lines('lib/decline.ts', 'throw new RangeError')) as string,
      },
    });
  });

  it('in a body', async () => {
    const { runId } = await box.start('throws', {});
    expect((await box.finish(runId)).error).toMatchObject({
      name: 'TypeError',
      stack: expect.stringContaining(lines('workflows/throws.workflow.ts', 'throw new')) as string,
    });
  });
});
