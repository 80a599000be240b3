import { expect, it } from 'vitest';
import { checkWorkspace } from '../src/check/check.ts';
import { findUnawaited } from '../src/check/unawaited.ts';
import { createWorkspace } from './_setup.ts';

const STEPS = `import { requestApproval, sleep, svc } from '@svc/runtime';
import { mail } from '../lib/mail';
import { notify } from '../lib/notify';

async function charge(amount: number) {
  'use step';
  return amount;
}

async function helper() {
  await charge(0);
}
`;

const FILES = {
  'lib/mail.ts': `export async function mail() {\n  'use step';\n}\n`,
  'lib/notify.ts': `import { mail as send } from './mail';\nexport async function notify() {\n  send();\n}\n`,
};

/** The problems of a body of these lines: `<line of the body>: <call>`; `lib` for one elsewhere. */
async function problemsOf(...lines: string[]): Promise<string[]> {
  const source = `${STEPS}\nexport async function run(items: number[]) {\n  'use workflow';\n${lines.join('\n')}\n}\n`;
  const root = createWorkspace({ 'workflows/a.workflow.ts': source, ...FILES });
  const first = STEPS.split('\n').length + 3;
  // A workflow with such a call runs: nothing else names it.
  expect((await checkWorkspace({ root })).problems).toEqual([]);
  const problems = await findUnawaited({ root });
  for (const { code, frame, line } of problems) {
    expect(code).toBe('step_not_awaited');
    expect(frame).toMatch(new RegExp(`^> *${line} \\|`, 'm'));
  }
  return problems.map(({ file, line, message }) => {
    const place = file === 'workflows/a.workflow.ts' ? line - first : file;
    return `${place}: ${message.slice(0, message.indexOf('('))}`;
  });
}

it.each([
  ['a step', 'charge(1);', ['0: charge']],
  ['a step of another file', 'mail();', ['0: mail']],
  ['a step within a branch, a loop and a callback', 'for (const i of items) if (i) charge(i);', ['0: charge']],
  ['one in a callback with a block', 'items.forEach((i) => { charge(i); });', ['0: charge']],
  ['a wait', "sleep('1h');", ['0: sleep']],
  ['another wait', "requestApproval({ title: 'Go?' });", ['0: requestApproval']],
  ['a wait for an event', "svc.events.wait('paid');", ['0: svc.events.wait']],
  ['a child that is waited for', "svc.workflows.startAndWait('b', {});", ['0: svc.workflows.startAndWait']],
  ['one in a helper of another file', 'await notify();', ['lib/notify.ts: send']],
  ['each of two', 'charge(1);\nmail();', ['0: charge', '1: mail']],
])('%s that stands alone is named', async (_, lines, problems) => {
  expect(await problemsOf(...lines.split('\n'))).toEqual(problems);
});

it.each([
  'await charge(1);',
  'void charge(1);',
  'const paid = charge(1);\nreturn paid;',
  'return charge(1);',
  'await Promise.all([charge(1), charge(2)]);',
  'charge(1).catch(() => {});',
  'charge(1).then(console.log);',
  'await Promise.all(items.map((i) => charge(i)));',
  'await helper();',
  'await sleep(1);',
  "await svc.workflows.start('b', {});",
  'String(items);',
])('%s is not', async (lines) => {
  expect(await problemsOf(...lines.split('\n'))).toEqual([]);
});

it('a step that a step calls as a function is none of the body', async () => {
  const source = `async function one() {\n  'use step';\n}\nasync function two() {\n  'use step';\n  one();\n}\nexport async function run() {\n  'use workflow';\n  await two();\n}\n`;
  const root = createWorkspace({ 'workflows/a.workflow.ts': source });
  expect(await findUnawaited({ root })).toEqual([]);
});
