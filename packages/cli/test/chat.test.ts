import { describe, expect, it } from 'vitest';
import { z } from '../../../playground/node_modules/zod/index.js';
import { call, setupBoxes, until } from '../../runtime/test/_setup.ts';
import { defineDeepAgent, defineTool } from '../../runtime/src/definitions/definition.ts';
import { runCli } from './_run.ts';
import { makeProject, readError, UTF8 } from './_setup.ts';

const boxes = setupBoxes();
const refunded: unknown[] = [];

const refund = defineTool({
  description: 'Give money back.',
  inputSchema: z.object({ amount: z.number() }),
  execute: ({ amount }) => {
    refunded.push(amount);
    return { refunded: amount };
  },
});
const add = defineTool({
  description: 'Add.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

const open = async (names = ['support']) => {
  refunded.length = 0;
  const box = await boxes.open({
    agents: Object.fromEntries(
      names.map((name) => [
        name,
        defineDeepAgent({ name, tools: { add, refund }, interruptOn: { refund: { title: 'Give money back?' } } }),
      ]),
    ),
  });
  const cwd = await makeProject(await box.listen());
  const type = (argv: string[], stdin: string[]) => runCli(['chat', ...argv], { cwd, tty: true, env: UTF8, stdin });
  const pipe = (argv: string[], stdin?: string) => runCli(['chat', ...argv], { cwd, ...(stdin ? { stdin } : {}) });
  return { box, cwd, type, pipe };
};

describe('one message', () => {
  it('is answered on stdout, with nothing else there', async () => {
    const { pipe } = await open();
    const result = await pipe(['support', 'tool:add {"a":1,"b":2}\nsay:It is 3.']);
    expect(result).toEqual({
      exitCode: 0,
      stdout: 'It is 3.\n',
      stderr: 'add {"a":1,"b":2}\n  = 3\n',
    });
    // The one agent there is, and what a pipe brings.
    expect(await pipe([], 'say:Hello.')).toMatchObject({ exitCode: 0, stdout: 'Hello.\n' });
  });

  it('goes on with a session by its name', async () => {
    const { box, pipe } = await open();
    await pipe(['support', 'say:One.', '--session', 'order-7']);
    await pipe(['support', 'say:Two.', '--session', 'order-7']);
    expect(JSON.stringify(box.model.requests.at(-1)?.messages)).toContain('One.');
  });

  it('is a line for each event with --json', async () => {
    const { pipe } = await open();
    const { stdout } = await pipe(['support', 'say:Hello.', '--json']);
    const types = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types.slice(0, 2)).toEqual(['RUN_STARTED', 'STEP_STARTED']);
    expect(types).toContain('TEXT_MESSAGE_CONTENT');
    expect(types.slice(-2)).toEqual(['RUN_FINISHED', 'end']);
  });

  it('fails with the approval that is waited for, and goes on once that is decided', async () => {
    const { box, pipe } = await open();
    const waits = await pipe(['support', 'tool:refund {"amount":5}\nsay:Done.', '--session', 's', '--json']);
    expect(waits.exitCode).toBe(1);
    const { items } = (await call<{ items: { approvalId: string }[] }>(box, 'GET /api/approvals')).body;
    expect(JSON.parse(waits.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
      error: { code: 'decision_needed', details: { session: 's', approvals: [items[0]?.approvalId] } },
    });
    await call(box, `POST /api/approvals/${items[0]?.approvalId}/decide`, { decision: 'approve' });
    await until(async () => refunded.length > 0);
    expect(refunded).toEqual([5]);
  });

  it('is refused with the agent that was meant, and the agents there are', async () => {
    const { pipe } = await open(['support', 'sales']);
    expect(readError(await pipe(['suport', 'say:Hello.', '--json']))).toMatchObject({
      code: 'agent_not_found',
      suggestion: 'Did you mean "support"?',
    });
    expect(readError(await pipe(['--json'], 'say:Hello.'))).toMatchObject({
      suggestion: 'Use one of: sales, support.',
    });
    expect(readError(await pipe(['support', '--json']))).toMatchObject({ message: '"svc chat" has nothing to say.' });
  });

  it('fails with the code of what failed in the box', async () => {
    const { pipe } = await open();
    const result = await pipe(['support', 'error:400', '--json']);
    expect(result.exitCode).toBe(1);
    expect(JSON.parse(result.stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      error: { code: 'model_provider_failed', suggestion: expect.stringContaining('svc provider test') as string },
    });
    const limited = await pipe(['support', 'error:429', '--json']);
    expect(JSON.parse(limited.stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      error: { code: 'rate_limit_exceeded', suggestion: expect.stringMatching(/svc why [\da-f-]{36}$/) as string },
    });
  });

  it('sends no escape sequence of a model to the terminal', async () => {
    const { pipe } = await open();
    const { stdout } = await pipe(['support'], 'say:\u001B[31mred\u001B]52;c;cm0=\u0007');
    for (const character of ['\u001B', '\u0007']) expect(stdout).not.toContain(character);
    expect(stdout).toContain('red');
  });
});

describe('a conversation', () => {
  it('shows calls and answers, and how to go on with it', async () => {
    const { type } = await open();
    const result = await type(['support', '--session', 's1'], ['tool:add {"a":1,"b":2}\nsay:It is 3.', '', 'say:Yes.']);
    expect(result).toMatchObject({ exitCode: 0 });
    expect(result.stdout).toMatch(/add \{"a":1,"b":2\}[^]*= 3[^]*It is 3\.\n[^]*Yes\.\n/);
    expect(result.stderr).toContain('Go on with it: svc chat support --session s1');
    const again = await type(['support', '--session', 's1'], ['/exit']);
    expect(again.stdout).toMatch(/> tool:add[^]*It is 3\.[^]*> say:Yes\.[^]*Yes\./);
  });

  it('asks about what waits for a person, edits it and says to the agent why it is rejected', async () => {
    const { box, type } = await open();
    const ask = (amount: number) => `tool:refund {"amount":${amount}}\nsay:Done.`;
    const result = await type(
      ['support'],
      [ask(1), 'perhaps', 'y', ask(2), 'e', '{"amount"', '{"amount":3}', ask(4), 'r', 'Too much.'],
    );
    expect(refunded).toEqual([1, 3]);
    expect(result.stderr).toContain('Give money back?\n[a]pprove');
    // The call is above the question, and not once more beneath it.
    expect(result.stdout.match(/refund {"amount":1}/g)).toHaveLength(1);
    expect(result.stderr).not.toContain('{"amount":1}');
    expect(result.stderr).toContain('Type one of: approve, edit, reject.');
    expect(result.stderr).toContain('That is not JSON');
    expect(JSON.stringify(box.model.requests.at(-1)?.messages)).toContain('Too much.');
    expect(result.stdout.match(/Done\./g)).toHaveLength(3);
  });

  it('goes on with what waits in a session', async () => {
    const { pipe, type } = await open();
    await pipe(['support', 'tool:refund {"amount":5}\nsay:Done.', '--session', 's']);
    const result = await type(['support', '--session', 's'], ['a']);
    expect(result.stderr).toContain('Give money back?\n  refund {"amount":5}\n');
    expect(refunded).toEqual([5]);
    expect(result.stdout).toContain('Done.');
  });

  it('shows all of a call that it asks about, where the line above has only its beginning, or several wait', async () => {
    const { type } = await open();
    const written = JSON.stringify({ amount: 6, why: 'x'.repeat(200) });
    const one = await type(['support'], [`tool:refund ${written}\nsay:Done.`, 'y']);
    expect(one.stderr).toContain(`Give money back?\n  refund ${written}\n`);
    const two = await type(['support'], ['tools:refund {"amount":7} | refund {"amount":8}\nsay:Done.', 'y', 'y']);
    for (const amount of [7, 8]) expect(two.stderr).toContain(`Give money back?\n  refund {"amount":${amount}}\n`);
    expect(refunded).toEqual([6, 7, 8]);
  });

  it('shows all of a call that waits in a session, however large it is', async () => {
    const { pipe, type } = await open();
    const written = JSON.stringify({ amount: 6, why: 'x'.repeat(9_000) });
    await pipe(['support', `tool:refund ${written}\nsay:Done.`, '--session', 's']);
    const result = await type(['support', '--session', 's'], ['a']);
    expect(result.stderr).toContain(`Give money back?\n  refund ${written}\n`);
    expect(refunded).toEqual([6]);
  });

  it('says what failed, and goes on', async () => {
    const { type } = await open();
    const result = await type(['support'], ['error:400', 'say:Still here.']);
    expect(result.stdout).toContain('Still here.');
  });
});

it('an answer is cancelled with Ctrl-C', async () => {
  const { box, cwd } = await open();
  const pressed = new AbortController();
  const result = await runCli(['chat', 'support', `delay:50; say:${'word '.repeat(2_000)}`], {
    cwd,
    signal: pressed.signal,
    onStdout: () => pressed.abort(),
  });
  expect(result.exitCode).toBe(130);
  expect(result.stderr).toBe('The answer is cancelled.\n');
  const { items } = (await call<{ items: { status: string }[] }>(box, 'GET /api/runs')).body;
  expect(items.map(({ status }) => status)).toEqual(['cancelled']);
});
