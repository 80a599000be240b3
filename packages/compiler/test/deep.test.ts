import { expect, it } from 'vitest';
import { checkValues } from '../src/deep/check-values.ts';
import { createWorkspace } from './_setup.ts';

const STRICT = JSON.stringify({
  compilerOptions: {
    strict: true,
    target: 'ES2023',
    lib: ['ES2023', 'DOM'],
    module: 'NodeNext',
    types: [],
    noEmit: true,
  },
});

/** What is found in a workflow of that code, as `line:column message`. */
async function check(code: string, more: Record<string, string> = {}): Promise<string[]> {
  const root = createWorkspace({ 'tsconfig.json': STRICT, 'workflows/order.workflow.ts': code, ...more });
  const problems = await checkValues({ root });
  for (const { code: found, frame } of problems)
    expect([found, frame]).toEqual(['value_not_recordable', expect.stringContaining('^')]);
  return problems.map(({ file, line, column, message }) => `${file}:${line}:${column} ${message}`);
}

const ADVICE = 'Pass plain data, or make the value inside the step that uses it.';

it('names the parameter, the result and the argument no journal can keep, each by its place', async () => {
  const found = await check(
    `
export async function orderWorkflow(input: { id: string }) {
  'use workflow';
  const tool = await makeTool(input.id);
  await keep(() => tool);
  await keep({ id: input.id, mark: Symbol('mark') });
  return { id: input.id };
}
async function charge(order: { id: string; done: { call(): void } }) {
  'use step';
  return order.id;
}
async function makeTool(id: string) {
  'use step';
  return { id, run: () => id };
}
async function keep(value: unknown) {
  'use step';
  return String(value);
}
void charge;
`,
  );
  const file = 'workflows/order.workflow.ts';
  expect(found).toEqual([
    `${file}:5:14 "value" of the step "keep" cannot be recorded: it is a function. ${ADVICE}`,
    `${file}:6:14 "value.mark" of the step "keep" cannot be recorded: it is a symbol. ${ADVICE}`,
    `${file}:9:23 "order.done.call" of the step "charge" cannot be recorded: it is a function. ${ADVICE}`,
    `${file}:13:1 "result.run" of the step "makeTool" cannot be recorded: it is a function. ${ADVICE}`,
  ]);
});

it('leaves alone what the journal keeps, and what a type leaves open', async () => {
  const found = await check(`
type Id = string & { readonly brand: unique symbol };
interface Tree { name: string; below?: Tree[] }
class Money {
  static [Symbol.for('workflow-serialize')](money: Money) { return money.cents; }
  constructor(readonly cents: number) {}
  plus(other: Money) { return new Money(this.cents + other.cents); }
}
class Refused extends Error { constructor(readonly status: number) { super('refused'); } }
interface Kept {
  id: Id; at: Date; seen: Map<string, Set<number>>; bytes: Uint8Array; url: URL; big: bigint; tree: Tree;
  price: Money; error: Error | Refused | null; pair: [string, number?]; by: Record<string, Date>; any: any; unknown: unknown;
  answer: Response; stream: ReadableStream<string>;
}
export async function orderWorkflow(input: Kept) {
  'use workflow';
  return keep(input, 'a', 1);
}
const keep = async <T>(value: T, ...more: (string | number)[]): Promise<T> => {
  'use step';
  void more;
  return value;
};
`);
  expect(found).toEqual([]);
});

it('follows a step through the import and the object it is called by', async () => {
  const found = await check(
    `
import { mailer as post } from './mailer.js';
import type { Connection } from './mailer.js';
export async function orderWorkflow(input: { text: string }) {
  'use workflow';
  const connection: Connection = await post.open();
  await post.send(connection);
}
`,
    {
      'workflows/mailer.ts': `
export class Connection { close() {} }
export const mailer = {
  async open() {
    'use step';
    return new Connection();
  },
  send: async (to: object) => {
    'use step';
    void to;
  },
};
`,
    },
  );
  const reason = 'it is an instance of Connection, which has no static [WORKFLOW_SERIALIZE] and [WORKFLOW_DESERIALIZE]';
  expect(found).toEqual([
    `workflows/mailer.ts:4:3 "result" of the step "open" cannot be recorded: ${reason}. ${ADVICE}`,
    `workflows/order.workflow.ts:7:19 "to" of the step "send" cannot be recorded: ${reason}. ${ADVICE}`,
  ]);
});

it('needs no tsconfig.json, and finds nothing where nothing is marked', async () => {
  const root = createWorkspace({ 'workflows/order.workflow.ts': 'export const order = () => () => 1;' });
  expect(await checkValues({ root })).toEqual([]);
});
