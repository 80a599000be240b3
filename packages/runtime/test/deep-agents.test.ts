import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { createPatterns } from '../src/tools/builtin/patterns.ts';
import { call, finish, json, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const KEY = { authorization: 'Bearer dev' };

const slow = defineTool({ description: 'Wait.', inputSchema: z.object({}), execute: () => 'waited' });
const agents = {
  planner: defineDeepAgent({
    name: 'planner',
    planning: true,
    files: true,
    tools: { slow },
    interruptOn: { slow: true },
  }),
  plain: defineDeepAgent({ name: 'plain', description: 'Answers in a word.' }),
  lead: defineDeepAgent({
    name: 'lead',
    subagents: [
      'plain',
      'lead',
      { name: 'writer', description: 'Writes.', instructions: 'You write.', files: true },
      { name: 'asker', description: 'Asks first.', tools: { slow }, interruptOn: { slow: true } },
    ],
  }),
};

interface Received {
  role: string;
  content: string;
}

async function ask(box: TestBox, agent: string, content: string, session?: string) {
  const headers = { ...KEY, ...(session === undefined ? {} : { 'x-svc-session': session }) };
  const answer = await box.request(
    '/wire-a/v1/chat/completions',
    json({ model: agent, messages: [{ role: 'user', content }] }, { headers }),
  );
  const body = (await answer.json()) as {
    choices: { message: { content: string } }[];
    error?: { message: string; code: string };
  };
  return { status: answer.status, body, text: body.choices?.[0]?.message.content };
}

/** What the model was last told its tools answered. */
const results = (box: TestBox) =>
  ((box.model.requests.at(-1)?.messages ?? []) as Received[])
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content);
const offered = (box: TestBox) =>
  ((box.model.requests.at(-1)?.tools ?? []) as { function: { name: string } }[]).map(({ function: { name } }) => name);
const use = (name: string, args: object) => `tool:${name} ${JSON.stringify(args)}`;
const script = (...lines: string[]) => [...lines, 'say:Done.'].join('\n');
const runsOf = async (box: TestBox, name: string) =>
  (await call<{ items: Record<string, unknown>[] }>(box, `GET /api/runs?name=${encodeURIComponent(name)}`)).body.items;

describe('a plain agent', () => {
  test('is offered none of the built-in tools', async () => {
    const box = await boxes.open({ agents });
    await ask(box, 'plain', 'say:hello');
    expect(box.model.requests.at(-1)?.tools).toBeUndefined();
  });
});

describe('a plan and files', () => {
  test('are kept with the session and are there after a restart', async () => {
    const box = await boxes.open({ agents });
    await ask(
      box,
      'planner',
      script(
        use('write_todos', { todos: [{ content: 'Look', status: 'in_progress' }] }),
        use('write_file', { file_path: '/notes/a.md', content: 'one\ntwo\nthree' }),
        use('edit_file', { file_path: 'notes/a.md', old_string: 'two', new_string: '2' }),
      ),
      'kept',
    );
    expect(results(box)).toEqual([
      'The plan has 1 items, 1 to do.',
      '"notes/a.md" is written: 13 bytes.',
      '"notes/a.md" is edited in one place.',
    ]);
    const again = await box.restart();
    await ask(again, 'planner', script(use('read_file', { file_path: 'notes/a.md', offset: 1, limit: 1 })), 'kept');
    expect(results(again).at(-1)).toBe('2\t2\n(1 more lines; go on at offset 2)');
    await ask(again, 'planner', script(use('ls', {})), 'other');
    expect(results(again)).toEqual(['There are no files.']);
  });

  test('go on over a restart in the middle of a turn', async () => {
    const box = await boxes.open({ agents });
    await ask(
      box,
      'planner',
      script(
        use('write_file', { file_path: 'a', content: 'kept' }),
        use('grep', { pattern: 'k.pt' }),
        use('slow', {}),
        use('read_file', { file_path: 'a' }),
      ),
      'middle',
    );
    const [pending] = (
      await call<{ items: { approvalId: string; runId: string }[] }>(box, 'GET /api/approvals?status=pending')
    ).body.items;
    const again = await box.restart();
    await call(again, `POST /api/approvals/${pending?.approvalId}/decide`, { decision: 'approve' });
    expect(await finish(again, pending?.runId ?? '')).toMatchObject({ status: 'completed' });
    expect(results(again)).toEqual(['"a" is written: 4 bytes.', 'a:1: kept', 'waited', '1\tkept']);
  });

  test('are found by glob and grep', async () => {
    const box = await boxes.open({ agents });
    const files = { 'a.ts': 'let a;', 'src/b.ts': 'let b;\nLET c;', 'src/deep/c.md': '# let' };
    await ask(
      box,
      'planner',
      script(
        ...Object.entries(files).map(([path, content]) => use('write_file', { file_path: path, content })),
        use('ls', { path: 'src' }),
        use('glob', { pattern: '**/*.ts' }),
        use('glob', { pattern: '*.{ts,md}', path: '/src' }),
        use('glob', { pattern: 'src/d??p/[a-c].md' }),
        use('grep', { pattern: '^let \\w', ignore_case: true }),
        use('grep', { pattern: 'let', glob: '**/*.md' }),
      ),
      'found',
    );
    expect(results(box).slice(3)).toEqual([
      'src/b.ts (13 bytes)\nsrc/deep/c.md (5 bytes)',
      'a.ts\nsrc/b.ts',
      'src/b.ts',
      'src/deep/c.md',
      'a.ts:1: let a;\nsrc/b.ts:1: let b;\nsrc/b.ts:2: LET c;',
      'src/deep/c.md:1: # let',
    ]);
  });

  test('refuse what is wrong with a sentence for the model', async () => {
    const box = await boxes.open({ agents });
    await ask(
      box,
      'planner',
      script(
        use('write_todos', { todos: [{ content: 'x', status: 'begun' }] }),
        use('read_file', { file_path: 'none' }),
        use('write_file', { file_path: '../up', content: '' }),
        use('write_file', { file_path: 'big', content: 'x'.repeat(600) }),
        use('edit_file', { file_path: 'big', old_string: 'x', new_string: 'y'.repeat(600), replace_all: true }),
        use('write_file', { file_path: 'a', content: `x x ${'a'.repeat(40)}b` }),
        use('edit_file', { file_path: 'a', old_string: 'x', new_string: 'y' }),
        use('grep', { pattern: '(a+)+$' }),
        use('grep', { pattern: '(' }),
        use('grep', { pattern: '(?=a)b' }),
      ),
      'wrong',
    );
    expect(results(box)).toEqual([
      expect.stringMatching(/^The arguments of "write_todos" are not valid\. todos\.0\.status: /),
      'There is no file "none". There are none.',
      '"../up" is no path of a file. Write it from the top, such as "notes/plan.md".',
      '"big" is written: 600 bytes.',
      'The file would have 360000 bytes; 262144 are allowed. Split it into several files.',
      '"a" is written: 45 bytes.',
      'The text occurs 2 times in "a". Give more of it, or set replace_all.',
      'No line matches "(a+)+$".',
      expect.stringMatching(/^The pattern is not a regular expression that can be searched for: missing closing \): /),
      expect.stringMatching(
        /^The pattern is not a regular .*`\(\?=`\. Lookahead, lookbehind, references to groups such as \\1, /,
      ),
    ]);
  });

  test('are searched for patterns that would go back for ever in the time that others take', async () => {
    const box = await boxes.open({ agents });
    const searches = ['(a+)+$', '(a|aa)+$', '(a*)*c', '(?i)^(A|a)+$'].map((pattern) => use('grep', { pattern }));
    const file = use('write_file', { file_path: 'a', content: `${'a'.repeat(500)}b` });
    await ask(box, 'planner', script(file, ...searches), 'searches');
    expect(results(box).slice(1)).toEqual(expect.arrayContaining([expect.stringMatching(/^No line matches/)]));
    expect(results(box).slice(1).join()).not.toContain('took longer');
  });

  test('are found in time, however long code of the box held its event loop meanwhile', async () => {
    const patterns = createPatterns();
    const search = { source: 'b', texts: ['ab'], byLine: true, most: 1, width: 2 };
    const found = [{ text: 0, line: 0, shown: 'ab' }];
    expect(await patterns.search({}, search)).toEqual(found);
    const again = patterns.search({}, search);
    await new Promise((resolve) => setImmediate(resolve));
    const end = performance.now() + 400;
    while (performance.now() < end);
    expect(await again).toEqual(found);
  });

  test('are searched for so long a turn, in which the box does other things', async () => {
    const patterns = createPatterns({ turnMs: 1 });
    const texts = ['a'.repeat(1_000_000)];
    const search = { source: 'a{1,1000}b$', texts, byLine: true, most: 1, width: 1 };
    const turn = {};
    const before = performance.eventLoopUtilization();
    expect(await patterns.search(turn, search)).toBe(
      'The pattern took longer than 1 ms. Write a shorter one, or search fewer files.',
    );
    expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.8);
    expect(await patterns.search(turn, search)).toBe(
      'The searches of this turn have taken 1 ms, the most they may. Go on without one.',
    );
  });
});

describe('a task', () => {
  test('is done by a run of its own, with a context of its own', async () => {
    const box = await boxes.open({ agents });
    await ask(box, 'lead', script(use('task', { subagent_type: 'plain', description: 'say:Forty-two.' })));
    expect(results(box)).toEqual(['Forty-two.']);
    expect(offered(box)).toEqual(['task']);
    const [child] = await runsOf(box, 'plain');
    const [parent] = await runsOf(box, 'lead');
    expect(child).toMatchObject({ kind: 'agent', trigger: 'workflow', parentRunId: parent?.runId, sessionId: null });
    expect((child as { totalTokens: number }).totalTokens).toBeGreaterThan(0);
    const asked = box.model.requests.find(({ messages }) => JSON.stringify(messages).includes('"say:Forty-two."'));
    expect(asked?.messages).toEqual([{ role: 'user', content: 'say:Forty-two.' }]);
  });

  test('goes to a sub-agent that the agent declares, several at a time', async () => {
    const box = await boxes.open({ agents });
    const task = (n: number) => JSON.stringify({ subagent_type: 'writer', description: `say:Text ${n}.` });
    await ask(box, 'lead', script(`tools:task ${task(1)} | task ${task(2)}`));
    expect(results(box)).toEqual(['Text 1.', 'Text 2.']);
    expect((await runsOf(box, 'lead/writer')).length).toBe(2);
    const asked = box.model.requests.find(({ messages }) => JSON.stringify(messages).includes('"say:Text 2."'));
    expect(asked?.messages[0]).toEqual({ role: 'system', content: 'You write.' });
  });

  test('that fails, or is for no one, is sent to the model', async () => {
    const box = await boxes.open({ agents });
    await ask(
      box,
      'lead',
      script(
        use('task', { subagent_type: 'plain', description: 'error:400' }),
        use('task', { subagent_type: 'nobody', description: 'x' }),
      ),
    );
    expect(results(box)).toEqual([
      expect.stringMatching(/^The sub-agent failed: The model provider answered 400/),
      'There is no sub-agent "nobody". Sub-agents: plain, lead, writer, asker.',
    ]);
  });

  test('is handed on eight times at most', async () => {
    const box = await boxes.open({ agents });
    const nested = Array.from({ length: 9 }).reduce<string>(
      (inner) => script(use('task', { subagent_type: 'lead', description: inner })).replace('\nsay:Done.', ''),
      'say:deep',
    );
    await ask(box, 'lead', nested);
    expect((await runsOf(box, 'lead')).length).toBe(9);
    const received = box.model.requests.flatMap(({ messages }) => messages as Received[]).map(({ content }) => content);
    expect(received).toContain(
      'The sub-agent failed: Agent "lead" was not started: 8 turns stand above each other, the most there may be.',
    );
  });

  test('that waits for a person goes on over a restart, and so does the turn that waits for it', async () => {
    const box = await boxes.open({ agents });
    const description = script(use('slow', {})).replace('Done.', 'Slept.');
    void ask(box, 'lead', script(use('task', { subagent_type: 'asker', description })), 'waits').catch(() => {});
    await until(async () => (await runsOf(box, 'lead/asker'))[0]?.status === 'waiting');
    await until(async () => (await runsOf(box, 'lead'))[0]?.status === 'waiting');
    const refused = await ask(box, 'lead', 'say:hello', 'waits');
    expect([refused.status, refused.body.error]).toMatchObject([409, { code: 'approval_pending' }]);
    const session = await call(box, 'GET /api/sessions/waits?agent=lead');
    expect(session.body).toMatchObject({ pendingApproval: { title: 'Run "slow"?' }, openTurn: { status: 'waiting' } });
    const again = await box.restart();
    const { body } = await call<{ items: { approvalId: string }[] }>(again, 'GET /api/approvals?status=pending');
    await call(again, `POST /api/approvals/${body.items[0]?.approvalId}/decide`, { decision: 'approve' });
    const [parent] = await runsOf(again, 'lead');
    expect(await finish(again, String(parent?.runId))).toMatchObject({ output: { content: 'Done.' } });
    expect(results(again)).toEqual(['Slept.']);
    expect((await runsOf(again, 'lead/asker')).length).toBe(1);
  });

  test('is cancelled with the turn that waits for it', async () => {
    const box = await boxes.open({ agents });
    void ask(box, 'lead', script(use('task', { subagent_type: 'plain', description: 'hang' })), 'gone').catch(() => {});
    await until(async () => (await runsOf(box, 'plain')).length === 1);
    const [parent] = await runsOf(box, 'lead');
    await call(box, `POST /api/runs/${String(parent?.runId)}/cancel`);
    const [child] = await runsOf(box, 'plain');
    expect((await finish(box, String(child?.runId))).status).toBe('cancelled');
  });

  test('of a stateless turn lets the turn go from memory and come back', async () => {
    const box = await boxes.open({ agents, options: { engine: { limits: { parkAfter: 50 } } } });
    const description = script('delay:400').replace('Done.', 'Slow answer.');
    const { text } = await ask(box, 'lead', script(use('task', { subagent_type: 'plain', description })));
    expect(text).toContain('Done.');
    expect(results(box)).toEqual(['Slow answer.']);
  });
});

describe('a part that is wrong', () => {
  const waits = (slowly: unknown) => ({ tools: { slow }, interruptOn: { slow: slowly } });
  const define = (more: object) => () => defineDeepAgent({ name: 'x', ...more } as never);
  test.each([
    [{ files: true, tools: { ls: slow } }, 'The tool "ls" is a built-in one that "files" switches on.'],
    [{ subagents: [{ name: 'a' }] }, 'The sub-agent "a" needs a description'],
    [{ subagents: ['a', 'a'] }, 'Two of its sub-agents are named "a".'],
    [{ skills: [{ name: 'a b', description: 'x', text: 'y' }] }, 'The skill name "a b" is not usable.'],
    [{ mcpServers: { a: {} } }, 'The MCP server "a" needs a "url", a "connection" or a "command", and one alone.'],
    [{ mcpServers: { a: { url: 'ftp://x' } } }, 'The MCP server "a" has the url "ftp://x".'],
    [{ output: {} }, '"output" is not a zod schema.'],
    [{ interruptOn: { task: true } }, 'interruptOn names "task", which is not a tool of this agent.'],
    [waits('yes'), 'interruptOn.slow is "yes"; it must be true, false or { by, allow, timeout, fallback }.'],
    [waits({ allow: ['aprove'] }), 'interruptOn.slow.allow is ["aprove"]; it must be a list of "approve", "edit"'],
    [waits({ allow: [] }), 'interruptOn.slow.allow is []; it must be a list'],
    [waits({ fallback: 'ask' }), 'interruptOn.slow.fallback is "ask"; it must be "approve" or "reject".'],
    [waits({ timeout: 'soon' }), 'interruptOn.slow.timeout: '],
    [
      waits({ timout: '1h' }),
      '"timout" is no member of interruptOn.slow. The members are: by, approvers, title, description, allow, timeout, fallback.',
    ],
    [{ interuptOn: { slow: true } }, '"interuptOn" is no member of an agent. The members are: name, description, '],
    [{ tools: { slow: { ...slow, timout: 5 } } }, 'The tool "slow": "timout" is no member of a tool.'],
    [{ tools: [slow] }, 'tools is a list. Write tools: { name: defineTool({ ... }) }.'],
    [{ subagents: [{ name: 'a', description: 'b', prompt: 'c' }] }, '"prompt" is no member of the sub-agent "a".'],
    [{ mcpServers: { a: { url: 'http://x', header: {} } } }, '"header" is no member of the MCP server "a".'],
  ])('is refused with a sentence: %j', (more, sentence) => {
    expect(define(more)).toThrow(sentence);
  });

  test('that only the whole workspace can tell keeps the agent from loading', async () => {
    const box = await boxes.open({ agents: { x: defineDeepAgent({ name: 'x', subagents: ['nobody'] }) } });
    const { status, body } = await ask(box, 'x', 'say:hello');
    expect([status, body.error?.message]).toEqual([503, expect.stringContaining('"subagents" names "nobody"')]);
  });
});
