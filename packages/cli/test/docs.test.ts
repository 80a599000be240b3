import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { typecheck } from '../../compiler/test/_typecheck.ts';
import { browser } from '../../runtime/test/_browser.ts';
import { CHAT_MS } from '../../runtime/test/_guide-page.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { chatWithDesk } from './_desk-page.ts';
import {
  bootPage,
  isFile,
  listPages,
  makePageWorkspace,
  readBlocks,
  readDocuments,
  readText,
  REPOSITORY,
  runBlock,
} from './_docs.ts';
import type { Ran } from './_docs.ts';
import { eventually, useRig } from './e2e/_setup.ts';
import type { Box, Run, Workspace } from './e2e/_setup.ts';

interface Picture {
  image_url: { url: string };
  svc?: unknown;
}

interface ShownWorkflow {
  name: string;
  steps: { id: string }[];
  problem: unknown;
}

interface Page {
  workspace: Workspace;
  box: Box;
}

interface Guide {
  file: string;
  /** False: the page opens the gate by itself. */
  model: boolean;
  /** The page edits files, and svc dev says what it makes of it. */
  edits?: true;
  /** The page begins with a workspace that is made, with its svc.config.ts. */
  isMade?: true;
  /** What the page says of a browser; `path` is that of one. */
  browse?: (path: string, page: Page) => Promise<void>;
  /** What must hold after each block that is run, in the order of the page. */
  facts: Record<string, (ran: Ran, page: Page) => void | Promise<void>>;
}

/** Blocks that are not run, and why. */
const NOT_RUN: Record<string, string> = {
  'README.md#demo': 'the pipeline runs it on a fresh clone',
  'README.md#create': 'needs a registry; e2e/published.test.ts runs it on one',
  'README.md#serve': 'stays; e2e/published.test.ts runs it',
  'README.md#test': 'runs this test',
  'start.md#prepare': 'an alias of the shell; runBlock puts the same command into the path',
  'start.md#alias': 'an alias of the shell; runBlock puts the same command into the path',
  'start.md#create': 'needs a registry, and asks; e2e/published.test.ts and create/test/terminal.test.ts run it',
  'start.md#serve': 'stays; e2e/published.test.ts runs it',
  'start.md#first': 'a conversation; e2e/published.test.ts sends it one message',
  'start.md#flags': 'needs a registry and a provider; e2e/published.test.ts runs it with its own',
  'start.md#install': 'needs a registry, and stays',
  'first-workspace.md#create': 'needs a registry; e2e/published.test.ts runs it on one',
  'start.md#model': 'stays; the same server runs in this process',
  ...Object.fromEntries(
    ['clone', 'gate', 'guide', 'say', 'chat', 'talk', 'add', 'start'].map((name) => [
      `start.md#${name}`,
      'e2e/scaffold.test.ts runs it',
    ]),
  ),
  'teams.md#serve': 'stays; plane.test.ts runs it, and control-plane/test/guide.test.ts has one in its place',
  'teams.md#verbs': 'needs a person who approves; e2e/teams.test.ts does it all in a browser',
  ...Object.fromEntries(
    ['signup', 'organization', 'invite', 'join', 'members', 'installation', 'token', 'audit', 'delete'].map((name) => [
      `teams.md#${name}`,
      'needs a control plane; control-plane/test/guide.test.ts runs it',
    ]),
  ),
  'self-host.md#up': 'needs a container engine and images; e2e/stack.test.ts brings one up',
  ...Object.fromEntries(
    ['env', 'caddy', 'server', 'caddy-full', 'server-full'].map((name) => [
      `self-host.md#${name}`,
      'needs nginx and Caddy; control-plane/test/proxies.test.ts runs them with it',
    ]),
  ),
  ...Object.fromEntries(
    ['plane', 'plane-up', 'plane-backup', 'plane-restore'].map((name) => [
      `self-host.md#${name}`,
      'needs a container engine and the image; e2e/plane-image.test.ts runs them',
    ]),
  ),
  'database.md#runs': 'a statement for a journal on PostgreSQL; sql-views.test.ts of the runtime runs it',
  'database.md#said': 'what svc dev says; the test of this page waits for it',
  'deploy.md#start': 'needs servers, and stays; e2e/deployed.test.ts runs it',
  'deploy.md#up': 'needs a container engine and images; the composition is checked in package-compose.test.ts',
  'deploy.md#move': 'needs a container engine and a volume of an older composition',
  'deploy.md#base': 'needs a container engine; e2e/package.test.ts runs what the image holds',
  'deploy.md#offline': 'needs a base image; package-offline.test.ts runs it with one made for it',
  'first-workspace.md#prepare': 'needs a registry; the workspace of this test is linked in the same way',
  'react.md#install': 'needs a registry',
  'react.md#page/chat.tsx': 'runtime/test/react.test.ts runs it in a browser',
  'react.md#page/main.tsx': 'runtime/test/react.test.ts runs it in a browser',
  'react.md#install-client': 'needs a registry; client/test/packed.test.ts installs what is published',
  'react.md#runs/order.tsx': 'runtime/test/react-runs.test.ts runs it in a browser',
  'react.md#runs/main.tsx': 'runtime/test/react-runs.test.ts runs it in a browser',
  'first-workspace.md#model': 'stays; the same server runs in this process',
  'refund-desk.md#create': 'needs a registry; e2e/published.test.ts runs it on one',
  'refund-desk.md#init': 'needs a registry; e2e/scaffold.test.ts runs it without one',
  'refund-desk.md#model': 'stays; the same server runs in this process',
  'refund-desk.md#provider': 'the box of this test has the same variable in its environment',
  'refund-desk.md#dev': 'stays; the box of this page is one',
  'refund-desk.md#react': 'needs a registry',
  'refund-desk.md#page/index.html': 'built and opened by the test of this page in a browser',
  'refund-desk.md#page': 'stays; the test of this page in a browser builds the same with Vite',
  'refund-desk.md#test-install': 'needs a registry; the workspace of this test is linked in the same way',
};

const GUIDES: Guide[] = [
  {
    file: 'docs/guide/first-workspace.md',
    model: false,
    facts: {
      gate(ran) {
        expect(readDocuments(ran)).toEqual([expect.objectContaining({ source: 'stored', hasKey: false })]);
      },
      chat(ran) {
        const [answer] = readDocuments(ran);
        expect(answer).toMatchObject({
          model: 'greeter',
          choices: [{ message: { content: expect.stringMatching(/^The tool answered: \d+:\d+:\d+/) } }],
        });
      },
      start(ran) {
        const [receipt, list] = readDocuments(ran);
        expect(receipt).toMatchObject({ workflowName: 'remind', status: 'started' });
        expect(list).toMatchObject({ items: [{ runId: receipt?.runId, name: 'remind', status: 'waiting' }] });
      },
      refused(ran) {
        expect(readDocuments(ran)).toMatchObject([
          { code: 'workflow_input_invalid', details: { issues: [{ path: ['who'] }] } },
        ]);
      },
      async cli({ stdout }, { box }) {
        expect(stdout).toContain('POST /api/workflows/remind/start');
        expect(stdout).toContain('"exclusiveMinimum": 0');
        const runId = /Started remind: run (\S+)/.exec(stdout)?.[1] ?? '';
        expect(stdout).toMatch(new RegExp(`^${runId}\\s+workflow\\s+remind\\s`, 'm'));
        expect(await box.finish(runId)).toMatchObject({ output: { note: 'Do not forget to greet Grace.' } });
      },
    },
  },
  {
    file: 'docs/guide/refund-desk.md',
    model: true,
    edits: true,
    isMade: true,
    browse: (path, { workspace, box }) => chatWithDesk(path, workspace, box),
    facts: {
      async small({ stdout }, { box }) {
        expect(stdout).toMatch(/Started refund: run \S+/);
        await untilWaiting(box, 'refund', 'webhook');
      },
      confirm({ stdout }) {
        expect(stdout).toContain('"refunded": 1900');
        // The bank was busy once.
        expect(stdout).toMatch(/\tpay\tcompleted\t2\t/);
        expect(stdout).toContain('releaseOrder');
      },
      async large({ stdout }, { box }) {
        expect(stdout).toMatch(/Started refund: run \S+/);
        await untilWaiting(box, 'refund', 'approval');
      },
      reject({ stdout }) {
        expect(stdout).toContain('Refund 240.00 for A-2?');
        expect(stdout).toContain('"message":"The refund was rejected: It came on time."');
      },
      timer({ stdout }) {
        expect(stdout).toMatch(/refund-report:weekdays.*0 9 \* \* 1-5/);
      },
      chat({ stdout, stderr }) {
        expect(stdout).toBe('It was 19.00.\n');
        expect(stderr).toContain('"customer":"ada"');
      },
      whose(ran) {
        const content = expect.stringContaining('There is no order');
        expect(readDocuments(ran)).toMatchObject([{ choices: [{ message: { content } }] }]);
      },
      test({ stdout }) {
        expect(stdout).toMatch(/Tests .*6 passed/);
      },
      key({ stdout }) {
        expect(stdout).toContain('svc_');
      },
    },
  },
  {
    file: 'docs/guide/agents.md',
    model: true,
    facts: {
      terminal(ran) {
        expect(ran).toMatchObject({
          stdout: 'It is paid.\n',
          stderr: expect.stringMatching(/^pay \{"amount": 5\}\n {2}= /),
        });
      },
      async stream({ stdout }, { box }) {
        expect(stdout).toContain('"name":"pay"');
        expect(stdout).toMatch(/data: \[DONE\]\n+$/);
        const said = Array.from(stdout.matchAll(/"content":"([^"]*)"/g), ([, text]) => text).join('');
        expect(said).toBe('It is paid.');
        const { items } = await box.get<{ items: Run[] }>('/api/runs?kind=agent');
        expect(items).toMatchObject([{ name: 'clerk', status: 'completed' }, { sessionId: expect.any(String) }]);
      },
      wait(ran) {
        expect(readDocuments(ran)).toMatchObject([
          { choices: [{ svc: { interrupts: [{ message: 'Run "refund"?' }] } }] },
        ]);
      },
      async edit({ stdout }, { box }) {
        expect(stdout).toMatch(/^Approved .+: Run "refund"\?$/m);
        const { items } = await box.get<{ items: Run[] }>('/api/runs?kind=agent&name=refunds');
        await box.finish(items[0]?.runId ?? '');
        const said = await box.get('/api/sessions/ada/messages?agent=refunds');
        expect(said).toMatchObject({
          items: [{ messages: [{}, {}, { role: 'tool', content: '{"refunded":4}' }, { content: 'It is done.' }] }],
        });
      },
    },
  },
  {
    file: 'docs/guide/react.md',
    model: true,
    facts: {
      send({ stdout }) {
        const [stream = '', chat = ''] = stdout.split('data: [DONE]\n\n');
        const chunks = stream.split('\n\n').filter(Boolean);
        expect(chunks.map((chunk) => (JSON.parse(chunk.slice('data: '.length)) as { type: string }).type)).toEqual(
          expect.arrayContaining(['start', 'tool-output-available', 'text-delta', 'finish']),
        );
        expect(JSON.parse(chat)).toMatchObject({
          id: 'c1',
          messages: [
            { id: 'u1' },
            {
              parts: [
                { type: 'step-start' },
                { type: 'tool-lookup', output: { order: 'A-1', total: 40 } },
                { type: 'step-start' },
                { type: 'text', text: 'It is 40.' },
              ],
            },
          ],
        });
      },
    },
  },
  {
    file: 'docs/guide/clients.md',
    model: true,
    facts: {
      completions(ran) {
        const message = { role: 'assistant', content: 'It is 3.', refusal: null };
        expect(readDocuments(ran)).toMatchObject([{ choices: [{ message, finish_reason: 'stop' }] }]);
        expect(ran.stdout).not.toContain('tool_calls');
      },
      messages({ stdout }) {
        const received = Array.from(stdout.matchAll(/^event: (.+)$/gm), ([, name]) => name);
        expect([received[0], received.at(-1)]).toEqual(['message_start', 'message_stop']);
        for (const piece of ['"type":"thinking"', '"name":"add"', '"stop_reason":"end_turn"'])
          expect(stdout).toContain(piece);
      },
      tools(ran) {
        expect(readDocuments(ran)).toMatchObject([
          { content: [{ type: 'mcp_tool_use' }, { type: 'mcp_tool_result' }, { text: 'It is 3.' }] },
        ]);
      },
      again(ran) {
        const [first, second] = readDocuments(ran);
        expect(first).toMatchObject({ choices: [{ message: { content: 'It is 3.' } }] });
        expect(second).toEqual(first);
      },
      agui({ stdout }) {
        const events = Array.from(stdout.matchAll(/^data: (.*)$/gm), ([, data = '']) => JSON.parse(data));
        expect([events[0], events.at(-1)]).toMatchObject([
          { type: 'RUN_STARTED', threadId: 't1', runId: 'r1' },
          { type: 'RUN_FINISHED', outcome: { type: 'success' } },
        ]);
        const types = events.map(({ type }) => type);
        expect(types).toEqual(
          expect.arrayContaining(['REASONING_ENCRYPTED_VALUE', 'TOOL_CALL_RESULT', 'TEXT_MESSAGE_END']),
        );
      },
    },
  },
  {
    file: 'docs/guide/callers.md',
    model: true,
    facts: {
      async greet(ran, { box }) {
        const [{ runId }] = readDocuments(ran) as [{ runId: string }];
        expect(await box.finish(runId)).toMatchObject({
          output: 'Hello ada',
          startedBy: { kind: 'user', id: 'ada', client: 'dev' },
        });
      },
      key(ran) {
        expect(readDocuments(ran)).toMatchObject([{ client: 'shop', users: true, sessions: 'own' }]);
      },
      user(ran) {
        expect(readDocuments(ran)).toMatchObject([
          { choices: [{ message: { content: 'Hello.' } }] },
          { items: [{ name: 'main', owner: { kind: 'user', id: 'ada', client: 'dev' } }] },
        ]);
      },
      async token(ran, { box }) {
        const [{ runId }] = readDocuments(ran) as [{ runId: string }];
        expect(await box.finish(runId)).toMatchObject({
          output: 'Hello ada',
          startedBy: { client: 'shop', user: { id: 'ada', name: 'Ada L.', data: { plan: 'gold' } } },
        });
      },
    },
  },
  {
    file: 'docs/guide/deep-agents.md',
    model: true,
    facts: {
      async chat(ran, { box }) {
        expect(readDocuments(ran)).toMatchObject([
          { choices: [{ message: { content: expect.stringContaining('The draft is written.') } }] },
        ]);
        const { items } = await box.get<{ items: (Run & { parentRunId: string })[] }>('/api/runs?kind=agent');
        expect(items.map(({ name }) => name)).toEqual(['editor/critic', 'editor']);
        expect(items[0]?.parentRunId).toBe(items[1]?.runId);
      },
      digest({ stdout }) {
        const frames = Array.from(stdout.matchAll(/^event: frame\ndata: (.*)$/gm), ([, data = '']) => JSON.parse(data));
        const text = 'Snow is cold and rain is wet, said in a text.';
        expect(frames.join('')).toBe(text);
        const [, end = ''] = /^event: end\ndata: (.*)$/m.exec(stdout) ?? [];
        expect(JSON.parse(end)).toMatchObject({ status: 'completed', output: { text, certain: true } });
      },
    },
  },
  {
    file: 'docs/guide/deploy.md',
    model: true,
    facts: {
      check({ stdout }) {
        expect(stdout).toContain('No problems in 0 agents and 1 workflow.');
        expect(stdout).toContain('The workspace fits @svc/runtime');
      },
      build({ stdout }, { workspace }) {
        expect(stdout).toContain('0 agents, 1 workflow, ');
        expect(existsSync(workspace.path('dist/workspace/manifest.json'))).toBe(true);
      },
      package({ stdout }, { workspace }) {
        expect(stdout).toContain('for self-host: 0 agents, 1 workflow, image svc-agent:latest');
        expect(stdout).toContain('SVC_PUBLIC_URL  needed to start');
        expect(workspace.read('dist/deploy/.env')).toMatch(/^STUDIO_STANDALONE_TOKEN=.+$/m);
      },
    },
  },
  {
    file: 'docs/guide/database.md',
    model: true,
    edits: true,
    facts: {
      async run({ stdout }, { box }) {
        const runId = /Started note: run (\S+)/.exec(stdout)?.[1] ?? '';
        expect(await box.finish(runId)).toMatchObject({ status: 'completed', output: { notes: 1 } });
      },
      async query({ stdout }, { box, workspace }) {
        const runId = /Started newest-notes: run (\S+)/.exec(stdout)?.[1] ?? '';
        expect(await box.finish(runId)).toMatchObject({ status: 'completed', output: ['Water the plants'] });
        workspace.edit('src/schema.ts', 'tag:', 'topic:');
        const [said] = readBlocks('docs/guide/database.md').filter(({ name }) => name === 'said');
        await eventually(() => box.stderr().includes(said?.text ?? '-'));
      },
      test({ stdout }) {
        expect(stdout).toMatch(/Tests .*1 passed/);
      },
      async rename({ stdout }, { box }) {
        expect(stdout).toContain('Wrote .svc/migrations/0001_rename_notes_tag.sql');
        await eventually(() => box.stderr().includes('Migrated: .svc/migrations/0001_rename_notes_tag.sql'));
      },
      status({ stdout }) {
        expect(stdout).toBe('applied  0000_create_notes\napplied  0001_rename_notes_tag\n');
      },
      tables({ stdout }) {
        expect(stdout).toBe('public\tnotes\ttable\t-\tid,body,topic,at\n');
      },
      ask({ stdout }) {
        expect(stdout).toBe('-\t1\n');
      },
    },
  },
  {
    file: 'docs/guide/rag.md',
    model: true,
    facts: {
      create(ran) {
        expect(readDocuments(ran)).toMatchObject([
          { name: 'handbook', embedding: { model: 'vendor/embedding-small' }, counts: { documents: 0 } },
        ]);
      },
      upload({ stdout }) {
        expect(stdout).toMatch(/^Added offices\.json, version 1: \d+ B, 78 characters/);
      },
      post(ran) {
        expect(readDocuments(ran)).toMatchObject([{ id: 'offices', version: 1, characters: 78 }]);
      },
      async add({ stdout }, { box }) {
        expect(stdout).toContain('Added leave.md, version 1');
        await eventually(async () => {
          const answer = await fetch(`${box.url}/api/rag/collections/handbook/documents/leave.md`);
          return ((await answer.json()) as { state: string }).state === 'ready';
        });
      },
      search({ stdout }) {
        expect(stdout.split('\n')[0]).toContain('leave.md:5\t## Sick leave');
      },
      rerank({ stdout }) {
        const [first = '', ...others] = stdout.trim().split('\n');
        expect(first).toMatch(/^0\.\d{3}\t[01]\.\d{3}\t/);
        expect(first).toContain('leave.md:5\t## Sick leave');
        expect(others).toHaveLength(1);
      },
      async run({ stdout }, { box }) {
        const runId = /Started look-up: run (\S+)/.exec(stdout)?.[1] ?? '';
        const run = await box.finish(runId);
        expect(run).toMatchObject({ status: 'completed' });
        expect(JSON.stringify(run)).toContain('{"documentId":"leave.md","line":1,');
      },
      async reindex({ stdout }, { box }) {
        expect(stdout).toContain('Reindexing handbook');
        await eventually(async () => {
          const answer = await fetch(`${box.url}/api/rag/collections/handbook`);
          const { embedding } = (await answer.json()) as { embedding: { model: string } };
          return embedding.model === 'vendor/embedding-large';
        });
      },
    },
  },
  {
    file: 'docs/guide/upgrades.md',
    model: true,
    edits: true,
    facts: {
      async start({ stdout }, { box, workspace }) {
        const runId = /Started order: run (\S+)/.exec(stdout)?.[1] ?? '';
        await eventually(async () => (await box.get<Run>(`/api/runs/${runId}`)).status === 'waiting');
        workspace.edit('workflows/order.workflow.ts', 'by rail', 'by air');
        const offer = 'On with the code they began with: 1 run of order. See which the edit fits: svc upgrade --check';
        await eventually(() => box.stderr().includes(offer));
      },
      check({ stdout }) {
        expect(stdout).toBe('order\t1\t1\t0\t0\n');
      },
      apply({ stdout }) {
        expect(stdout).toBe('order\t1\t1\t0\t0\t0\n');
      },
      async get(ran, { box, workspace }) {
        const [list] = readDocuments(ran) as unknown as { items: Run[] }[];
        const [{ runId = '' } = {}] = list?.items ?? [];
        expect(await box.get(`/api/runs/${runId}`)).toMatchObject({
          code: { isKept: false, movedAt: expect.any(String) },
        });
        const body = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
        await box.fetch('/api/workflows/hooks/go-A-1/resume', body);
        expect(await box.finish(runId)).toMatchObject({ output: ['charged A-1', 'shipped A-1 by air'] });
        const next = await box.start('order', { order: 'A-2' });
        await eventually(async () => (await box.get<Run>(`/api/runs/${next.runId}`)).status === 'waiting');
        const text = workspace.read('workflows/order.workflow.ts').replaceAll('charge(', 'bill(');
        workspace.write('workflows/order.workflow.ts', text);
        await eventually(async () => (await box.get<{ items: unknown[] }>('/api/upgrade')).items.length === 1);
      },
      stops({ stdout }) {
        expect(stdout).toMatch(
          /^order\t1\t0\t1\t0\n\nworkflows\/order\.workflow\.ts:\d+:1 code_changed: Run \S+ of order: /,
        );
        expect(stdout).toMatch(/#charge"; the code now calls ".*#bill"/);
        expect(stdout).toContain('Not all of them can be moved.');
      },
    },
  },
  {
    file: 'docs/guide/testing.md',
    edits: true,
    model: true,
    facts: {
      run({ stdout }) {
        expect(stdout).toMatch(/Tests .*6 passed/);
      },
      replay({ stdout }) {
        expect(stdout).toMatch(/^Pulled charge-card \(waiting\), \d+ records?: \.svc\/runs\//m);
        expect(stdout).toContain('The code would go on with, and nothing of it was done:\n  sleep sleep(');
      },
      promote({ stdout }) {
        expect(stdout).toMatch(/Tests .*1 passed/);
      },
    },
  },
  {
    file: 'docs/guide/sessions.md',
    model: true,
    facts: {
      talk(ran) {
        expect(readDocuments(ran)).toMatchObject([{ choices: [{ message: { content: 'Hello Ada.' } }] }]);
      },
      look(ran) {
        expect(readDocuments(ran)).toMatchObject([
          { items: [{ name: 'ada-1', agent: 'keeper', turns: 1 }] },
          { name: 'ada-1', openTurn: null, summary: null },
          { items: [{ messages: [{ role: 'user' }, { role: 'assistant', reasoning: 'Easy.' }] }] },
        ]);
      },
      async tell(_ran, { box }) {
        await eventually(async () => {
          const answer = await fetch(`${box.url}/api/memory?user=ada`);
          return ((await answer.json()) as { items: { state: string }[] }).items[0]?.state === 'ready';
        });
      },
      recall({ stdout }) {
        expect(stdout).toMatch(/<piece session=.*Assistant: My dog is called Rex\./);
      },
      memory({ stdout }) {
        const [tuesday = '', monday = '', forgotten] = stdout.trim().split('\n');
        expect([tuesday, monday]).toEqual([expect.stringContaining('friend'), expect.stringContaining('ready')]);
        expect(forgotten).toBe('Forgotten 2 turns of "ada"');
      },
      async picture(ran) {
        const [answer, read] = readDocuments(ran) as [object, { items: { messages: { content: Picture[] }[] }[] }];
        expect(answer).toMatchObject({ choices: [{ message: { content: 'I see it.' } }] });
        const [, part] = read.items[0]?.messages[0]?.content ?? [];
        expect(part?.svc).toEqual({ mediaType: 'image/png', size: 30_000 });
        const picture = await fetch(part?.image_url.url ?? '');
        expect((await picture.arrayBuffer()).byteLength).toBe(30_000);
      },
      async follow({ stdout }, { workspace }) {
        const words = 'one two three four five six seven eight';
        expect(Array.from(stdout.matchAll(/"delta":"([^"]*)"/g), ([, text]) => text).join('')).toBe(words);
        expect(workspace.read('left.txt')).not.toContain('eight');
      },
      stop({ stdout }) {
        expect(stdout).toMatch(/^HTTP\/1\.1 204 /);
      },
      delete(ran) {
        expect(readDocuments(ran)).toMatchObject([{ deleted: true }]);
      },
    },
  },
  {
    file: 'docs/guide/evals.md',
    model: true,
    facts: {
      case(ran) {
        expect(readDocuments(ran)).toMatchObject([{ name: 'greets' }, { name: 'looks the order up' }]);
      },
      suite(ran) {
        expect(readDocuments(ran)).toMatchObject([{ name: 'smoke', gates: { passRate: 1 } }]);
      },
      own({ stdout }) {
        expect(stdout).toContain('tone  passed');
        expect(stdout).toMatch(/no-apology/);
      },
      run({ stdout }, { workspace }) {
        expect(stdout).toContain('smoke  passed');
        expect(stdout).toMatch(/^greets\tyes\t1\t/m);
        expect(readFileSync(workspace.path('evals.xml'), 'utf8')).toContain('tests="2" failures="0"');
      },
    },
  },
  {
    file: 'docs/guide/prompts.md',
    model: true,
    facts: {
      publish(ran) {
        expect(readDocuments(ran)).toMatchObject([{ ownerName: 'concierge', publishedVersion: 1 }]);
      },
      turn(ran) {
        expect(readDocuments(ran)).toMatchObject([
          { choices: [{ message: { content: 'Welcome.' } }] },
          { items: [{ attributes: { 'svc.prompt.instructions': expect.stringMatching(/^[\w-]+@1$/) } }] },
        ]);
      },
      versions(ran) {
        expect(readDocuments(ran)).toMatchObject([
          { version: 2, note: 'Rooms are sold elsewhere' },
          { from: 1, to: 2, added: 2, removed: 1 },
          { publishedVersion: 2 },
          { publishedVersion: 1, latestVersion: 2 },
        ]);
      },
      async try({ stdout }, { box }) {
        expect(stdout).toMatch(/"type":"RUN_FINISHED".*"outcome":\{"type":"success"\}/);
        const { items } = await box.get<{ items: Run[] }>('/api/runs?kind=agent&limit=1');
        expect(items).toMatchObject([{ attributes: { 'svc.prompt.instructions': expect.stringMatching(/@2$/) } }]);
      },
    },
  },
  {
    file: 'docs/guide/copilot.md',
    model: true,
    facts: {
      on(ran) {
        expect(readDocuments(ran)).toMatchObject([{ copilot: { enabled: true } }]);
      },
      prompt(ran) {
        expect(readDocuments(ran)).toMatchObject([{ ownerName: 'studio-copilot', publishedVersion: 1 }]);
      },
      async ask({ stdout }, { box }) {
        expect(stdout).toContain('"content":"Ada"');
        expect(stdout).toMatch(/"type":"RUN_FINISHED".*"outcome":\{"type":"success"\}/);
        const { items } = await box.get<{ items: Run[] }>('/api/runs?kind=agent');
        expect(items).toMatchObject([{ name: 'studio-copilot', status: 'completed' }]);
      },
    },
  },
  {
    file: 'docs/guide/guardrails.md',
    model: true,
    facts: {
      create(ran) {
        expect(readDocuments(ran)).toMatchObject([{ name: 'cards', order: 5 }]);
      },
      created(ran) {
        expect(readDocuments(ran)).toMatchObject([{ name: 'no betting', order: 6 }]);
      },
      async start(ran, { box }) {
        const [started, refused] = readDocuments(ran) as [{ runId: string }, unknown];
        expect(refused).toMatchObject({ code: 'workflow_guardrail_blocked', details: { rule: 'no betting' } });
        expect(await box.finish(started.runId)).toMatchObject({ output: { note: 'with [card]' } });
      },
      judged(ran) {
        expect(readDocuments(ran)).toMatchObject([{ name: 'kind words', check: { kind: 'model', timeoutMs: 10_000 } }]);
      },
      hold({ stdout }) {
        expect(stdout).toMatch(/"name":"large refunds".*"action":"hold"/);
        expect(stdout).toContain('No approvals');
      },
      'hold-input'({ stdout }) {
        expect(stdout).toMatch(/"name":"large notes".*"action":"hold"/);
      },
      async code(ran, { box }) {
        expect(ran.stdout).toMatch(/^1\tbetting\twords\tblock\t.*\tcode$/m);
        expect(ran.stdout).toMatch(/^3\tsupport\/secrets\tpii\tmask\t.*\tcode$/m);
        const [started, refused] = readDocuments({ ...ran, stdout: ran.stdout.slice(ran.stdout.indexOf('{"')) }) as [
          { runId: string },
          unknown,
        ];
        expect(refused).toMatchObject({ code: 'workflow_guardrail_blocked', details: { rule: 'betting' } });
        expect(await box.finish(started.runId)).toMatchObject({ output: { note: 'for [ticket]' } });
      },
      try({ stdout }) {
        expect(stdout).toMatch(/^block {2}by the rule no betting$/m);
        expect(stdout).toContain('"verdict":"mask","rule":null,"text":"mail [email]"');
      },
      recorded(ran) {
        expect(ran.stdout).toMatch(/^pass$/m);
        expect(ran.stdout).toMatch(/\tpay\tworkflow-input\tstart\t.*\tdraft\taudit\t1\t/);
        const [answer] = readDocuments({ ...ran, stdout: ran.stdout.slice(ran.stdout.indexOf('{"')) });
        expect(answer).toMatchObject({ verdict: 'block', rule: 'draft', text: null, nextCursor: null });
        expect(JSON.stringify(answer)).not.toContain('[card]');
      },
      hits({ stdout }) {
        expect(stdout).toMatch(/\tno betting\tworkflow-input\tblock\tworkflow pay\t1\t/);
        expect(stdout).toContain('"ruleName":"no betting"');
        expect(stdout).toMatch(/^6\tno betting\twords\tblock\t/m);
      },
    },
  },
  {
    file: 'docs/guide/config.md',
    model: true,
    facts: {
      async set({ stdout }, { box }) {
        const [change = '', , ...rest] = stdout.split(/(Started refund: run \S+)[^{]*/);
        expect(JSON.parse(change)).toMatchObject({ key: 'maxRefund', value: 80, isSet: true, revision: 1 });
        const runId = /Started refund: run (\S+)/.exec(stdout)?.[1] ?? '';
        expect(await box.finish(runId)).toMatchObject({ output: { paid: 80, by: 'post' } });
        expect(readDocuments({ code: 0, stderr: '', stdout: rest.join('') })).toMatchObject([
          { value: 80, default: 50, type: { type: 'number', minimum: 0 } },
          { items: [{ revision: 1, value: 80, isSet: true }] },
          { value: 50, isSet: false, revision: 2 },
        ]);
      },
    },
  },
  {
    file: 'docs/guide/models.md',
    model: true,
    facts: {
      async run({ stdout }, { box }) {
        const runId = /Started triage: run (\S+)/.exec(stdout)?.[1] ?? '';
        expect(await box.finish(runId)).toMatchObject({
          status: 'completed',
          output: { team: 'billing', urgent: true, tokens: expect.any(Number) },
        });
      },
    },
  },
  {
    file: 'docs/guide/recipes.md',
    edits: true,
    model: true,
    facts: {
      jobs({ stdout }) {
        expect(stdout).toMatch(/digest.*0 8 \* \* 1-5/);
      },
      async buy(_, { box }) {
        await untilWaiting(box, 'purchase', 'approval');
      },
      approve({ stdout }) {
        expect(stdout).toMatch(/^Approved \S+: Buy desk for 400\?$/m);
        expect(stdout).toContain('"output":{"bought":true,"note":"Go."}');
      },
      learn({ stdout }) {
        expect(stdout).toContain('Refunds take five days.');
        expect(stdout).not.toContain('The shop opens');
      },
    },
  },
  {
    file: 'docs/guide/storage.md',
    model: true,
    facts: {
      async run({ stdout }, { box }) {
        const runId = /Started report: run (\S+)/.exec(stdout)?.[1] ?? '';
        const { status, output } = await box.finish(runId);
        expect(status).toBe('completed');
        expect(output).toMatchObject({ text: 'All was well on monday.', count: 1 });
        expect(await (await fetch((output as { url: string }).url)).text()).toBe('All was well on monday.');
      },
      ls({ stdout }) {
        expect(stdout).toContain('reports/monday.txt');
      },
      async archive({ stdout }, { box }) {
        const runId = /Started archive: run (\S+)/.exec(stdout)?.[1] ?? '';
        const { status, output } = await box.finish(runId);
        expect([status, output]).toEqual(['completed', { read: 6_890, size: 6_890, by: 'archive', first: '0,ok' }]);
      },
    },
  },
  {
    file: 'docs/guide/secrets.md',
    model: true,
    facts: {
      set(ran) {
        expect(readDocuments(ran)).toMatchObject([{ name: 'SHOP_KEY', version: 1 }]);
        expect(ran.stdout).not.toContain('s3cret');
      },
    },
  },
  {
    file: 'docs/guide/browser.md',
    model: true,
    facts: {
      set(ran) {
        expect(readDocuments(ran)).toMatchObject([
          {
            url: 'ws://127.0.0.1:9222/session?token={key}',
            source: 'stored',
            hasKey: true,
            limits: { sessions: 2, pages: 5 },
          },
        ]);
        expect(ran.stdout).not.toContain('key-of-the-browser');
      },
    },
  },
  {
    file: 'docs/guide/connections.md',
    model: true,
    facts: {
      set(ran) {
        const facts = { id: 'github', auth: 'api_key', baseUrl: 'https://api.github.com' };
        const createdBy = 'connections/github.connection.ts';
        expect(readDocuments(ran)).toMatchObject([{ ...facts, state: 'ready', createdBy }]);
        expect(ran.stdout).not.toContain('ghp_of_yours');
      },
    },
  },
  {
    file: 'docs/guide/triggers.md',
    model: true,
    facts: {
      async set(ran, { box }) {
        const [trigger, first, second] = readDocuments(ran) as Record<string, unknown>[];
        expect(trigger).toMatchObject({ state: 'ready', secrets: 1, target: { workflow: 'triage-issue' } });
        expect([first, second]).toMatchObject([{ state: 'pending' }, { state: 'repeated' }]);
        expect(ran.stdout).not.toContain('a-secret-of-yours');
        const { items } = (await (await box.fetch('/api/runs?trigger=trigger')).json()) as { items: unknown[] };
        expect(items).toMatchObject([{ name: 'triage-issue' }]);
      },
      poll(ran) {
        const poll = { everySeconds: 600, items: 'body.issues', from: 'now' };
        expect(readDocuments(ran)).toMatchObject([{ kind: 'poll', state: 'ready', url: null, poll }]);
      },
      slack(ran) {
        expect(readDocuments(ran)).toMatchObject([{ state: 'needs_secret', target: { agent: 'support' } }]);
      },
      again(ran) {
        expect(readDocuments(ran)).toMatchObject([{ state: 'pending', redeliveryOf: expect.any(String) }]);
      },
    },
  },
  {
    file: 'docs/guide/command-line.md',
    model: true,
    facts: {
      async ship(_, { box }) {
        await eventually(
          async () => (await box.get<{ items: unknown[] }>('/api/approvals?status=pending')).items.length === 1,
        );
      },
      decide({ stdout }) {
        expect(stdout).toMatch(/^Approved \S+: Ship A-1\?$/m);
        expect(stdout).toContain('"name":"ship"');
      },
      set({ stdout }) {
        expect(stdout).toContain('Set greeting = "Good day" (revision 1)');
        expect(stdout).toContain('Deleted secret SMTP_PASSWORD');
        expect(stdout).toMatch(/"value":"svc_/);
      },
      completion(_, { workspace }) {
        expect(workspace.read('svc.bash')).toMatch(/^complete -F _svc svc$/m);
        expect(workspace.read('svc.zsh')).toMatch(/^#compdef svc$/m);
        expect(workspace.read('svc.fish')).toMatch(/^complete -c svc -f /m);
      },
    },
  },
  {
    file: 'docs/guide/operating.md',
    model: true,
    facts: {
      addresses({ stdout }) {
        expect(stdout).toMatch(/^Created key erp /);
      },
      key(ran) {
        expect(readDocuments(ran)).toMatchObject([{ name: 'web shop', value: expect.stringMatching(/^svc_/) }]);
      },
      rotate(ran) {
        expect(readDocuments(ran)).toMatchObject([
          { name: 'web shop', value: expect.stringMatching(/^svc_/), replaces: { expiresAt: expect.any(String) } },
        ]);
      },
      limits({ stdout }) {
        expect(stdout).toMatch(/^Created key mobile /);
        expect(stdout).toMatch(/^ {2}tokens this month +0, no limit$/m);
      },
      events({ stdout }) {
        expect(stdout).toMatch(/^retry: 2000\n/);
      },
      notify({ stdout }) {
        expect(stdout).toContain('run.failed charge: The card was declined.');
      },
      metrics({ stdout }) {
        expect(stdout).toMatch(/^svc_runs_live \d+$/m);
      },
      logs({ stdout }) {
        expect(stdout).toContain('"message":"The run has started."');
      },
      why({ stdout }) {
        expect(stdout).toContain('The run waits until a person decides: "Refund 50?".');
        expect(stdout).toContain('  lock        refund, held by ');
      },
    },
  },
  {
    file: 'docs/guide/api.md',
    model: true,
    facts: {
      document(ran) {
        const [document] = readDocuments(ran);
        expect(document).toMatchObject({
          openapi: '3.1.0',
          paths: { '/api/runs/{id}/cancel': { post: { 'x-svc-permission': 'runs:cancel', 'x-svc-confirm': true } } },
        });
      },
      preflight({ stdout }) {
        expect(stdout).toMatch(/^HTTP\/1\.1 204 /);
        expect(stdout).toContain('access-control-allow-origin: https://app.example.com\r\n');
        expect(stdout).toContain('access-control-allow-headers: authorization, content-type, x-stainless-os\r\n');
      },
      tools({ stdout }) {
        for (const name of ['list_operations', 'call_write_operation', 'workflow_greet'])
          expect(stdout).toContain(`"name":"${name}"`);
      },
      key({ stdout }) {
        expect(stdout).toBe("{ text: 'Hello, Ada.' }\nWelcome.\nhost completed\n");
      },
      workflow({ stdout }) {
        expect(stdout).toContain('"output":{"text":"Hello, Ada."}');
      },
    },
  },
  {
    file: 'docs/guide/workflow-sdk.md',
    model: true,
    facts: {
      async greet({ stdout }, { box }) {
        const runId = /Started greet-team: run (\S+)/.exec(stdout)?.[1] ?? '';
        const resume = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"ok":true}' };
        await eventually(async () => (await box.fetch('/api/workflows/hooks/team:blue/resume', resume)).status === 200);
        expect(await box.finish(runId)).toMatchObject({ output: { text: 'HELLO ADA', status: 200 } });
      },
      async newsletter({ stdout }, { box }) {
        const [first = '', second = ''] = Array.from(stdout.matchAll(/run (\S+)/g), ([, runId = '']) => runId);
        expect(await box.finish(first)).toMatchObject({ output: 'Dear reader, it is spring' });
        expect(await box.finish(second)).toMatchObject({ output: 'Dear reader, and dear Ada' });
      },
    },
  },
  {
    file: 'docs/guide/workflows.md',
    model: true,
    facts: {
      async run({ stdout }, { box }) {
        const runId = /Started order: run (\S+)/.exec(stdout)?.[1] ?? '';
        expect(stdout).toMatch(new RegExp(`^${runId}\\s+workflow\\s+order\\s`, 'm'));
        expect(await box.finish(runId)).toMatchObject({
          status: 'completed',
          output: { receipt: { amount: 800, key: expect.stringMatching(/\w/) }, shipped: 'A parcel with "lamp".' },
        });
        const refused = await box.start('order', { item: 'lamp', count: 9 });
        expect(await box.finish(refused.runId)).toMatchObject({
          status: 'failed',
          error: { message: 'Only 4 of "lamp" are left.' },
        });
      },
      async publish({ stdout }, { box }) {
        const runId = /Started import-rows: run (\S+)/.exec(stdout)?.[1] ?? '';
        await box.finish(runId);
        expect(await box.get(`/api/runs/${runId}/state`)).toMatchObject({
          state: { done: 3, of: 3, note: '' },
        });
        const { runId: watching } = await box.start('watch-import', { runId });
        expect(await box.finish(watching)).toMatchObject({ status: 'completed', output: '3 of 3' });
      },
      async collect({ stdout }, { box }) {
        const runId = /Started collect: run (\S+)/.exec(stdout)?.[1] ?? '';
        expect(await box.finish(runId)).toMatchObject({ status: 'completed', output: 7, continuedTo: null });
      },
      async version({ stdout }, { box }) {
        const runId = /Started invoice: run (\S+)/.exec(stdout)?.[1] ?? '';
        expect(await box.finish(runId)).toMatchObject({ status: 'completed', output: { total: 120 } });
        const long = await box.start('invoice', { net: 2_000 });
        await eventually(async () => (await box.get<Run>(`/api/runs/${long.runId}`)).status === 'waiting');
        expect(await box.get('/api/workflows/invoice/changes')).toMatchObject({
          items: [{ change: 'with-tax', versions: [{ version: 1, runs: 1 }], isNeeded: false }],
        });
      },
      async park({ stdout }, { box }) {
        const runId = /Started deliver: run (\S+)/.exec(stdout)?.[1] ?? '';
        await eventually(async () => (await box.get<Run>(`/api/runs/${runId}`)).status === 'waiting');
      },
      async resume(ran, { box }) {
        expect(readDocuments(ran)).toEqual([{ runId: expect.any(String), status: 'resumed' }]);
        await eventually(
          async () => (await box.get<{ items: unknown[] }>('/api/approvals?status=pending')).items.length === 1,
        );
      },
      async decide(ran, { box }) {
        const [approval] = readDocuments(ran);
        expect(approval).toMatchObject({ title: 'Send A-1, 3 kg?', status: 'approved', note: 'Go.' });
        expect(await box.finish(String(approval?.runId))).toMatchObject({
          output: { sent: true, shipped: 'A parcel with "lamp".' },
          attributes: { orderId: 'A-1' },
        });
      },
      async signal(_, { box }) {
        const { items } = await box.get<{ items: Run[] }>('/api/runs?name=tab');
        expect(items).toHaveLength(1);
        expect(await box.finish(items[0]?.runId ?? '')).toMatchObject({ output: ['tea', 'cake'] });
      },
      streams({ stdout }) {
        expect(stdout).toMatch(/^default\s+2\s/m);
        expect(stdout).toMatch(/^\{"text":"two"\}$/m);
      },
      stream({ stdout }) {
        const lines = stdout.split('\n').filter((line) => /^(event|data):/.test(line));
        expect(lines.slice(2)).toEqual([
          'event: frame',
          'data: {"text":"one"}',
          'event: frame',
          'data: {"text":"two"}',
          'event: end',
          'data: {"status":"completed","output":2,"error":null}',
        ]);
      },
      async flow({ stdout }, { box }) {
        const [, runId = '', first, second] =
          /Started pack-order: run (\S+)\nQueued pack-order: start (\S+)\nQueued pack-order: start (\S+)/.exec(
            stdout,
          ) ?? [];
        // The id has the start that waits: the second one joins it.
        expect(first).toBe(second);
        expect(stdout).toMatch(new RegExp(`^0\\s+${first}\\s+delay\\s.*\\s5\\s`, 'm'));
        expect(stdout).toMatch(/order-7\n.*\n.*queued/);
        expect(await box.finish(runId)).toMatchObject({ output: 'lamp for main' });
        const all = await box.start('pack-all', { shop: 'b', items: ['x', 'y'] });
        expect(await box.finish(all.runId)).toMatchObject({ output: 'x for b' });
      },
      many({ stdout }) {
        expect(stdout).toMatch(
          /^1 (started run|queued start) \S+\n2 (started run|queued start) \S+\n3 queued start \S+\n$/,
        );
      },
      async event({ stdout }, { box }) {
        const [sent] = stdout.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as object] : []));
        expect(sent).toMatchObject({ id: 'evt-1', name: 'order.paid' });
        const outputOf = async (name: string) => {
          const { items } = await box.get<{ items: Run[] }>(`/api/runs?name=${name}`);
          return items.length === 1 ? (await box.finish(String(items[0]?.runId))).output : undefined;
        };
        await eventually(async () => (await outputOf('send-receipt')) === 'Receipt of A-1');
        expect(await outputOf('await-payment')).toBe('A-1: 7');
      },
      once(ran) {
        const [first, second] = readDocuments(ran);
        expect(first).toMatchObject({ workflowName: 'count-stock', status: 'started' });
        expect(second).toEqual(first);
      },
    },
  },
];

const rig = useRig();

describe.each(GUIDES)('$file', ({ file, model, edits, isMade, facts, browse }) => {
  const blocks = readBlocks(file);
  const run = blocks.filter(({ name }) => Object.hasOwn(facts, name));
  const page = {} as Page;

  beforeAll(async () => {
    page.workspace = await makePageWorkspace(rig, file);
    if (isMade) page.workspace.write('svc.config.ts', readText('templates/empty/svc.config.ts'));
    page.box = await bootPage(rig, page.workspace, { model });
    return async () => void (await page.box.stop());
  });

  it.each(run.map((block) => [block.id, block] as const))('%s does what the page says', async (_, block) => {
    const ran = await runBlock(block, page.workspace, rig.model().port);
    expect(ran).toMatchObject({ code: 0 });
    await facts[block.name]?.(ran, page);
  });

  if (browse)
    describeWhen(browser, 'in a browser', (path) => {
      it('does what the page says', { timeout: CHAT_MS }, () => browse(path, page));
    });

  it('has no problem in its files', async () => {
    const { items } = await page.box.get<{ items: ShownWorkflow[] }>('/api/workflows');
    const { agents } = await page.box.get<{ agents: string[] }>('/api/discovery');
    const written = blocks
      .filter(isFile)
      .map(({ name }) => name)
      .filter((name) => !name.endsWith('.md'));
    const toFile = ({ name, steps }: ShownWorkflow): string => {
      const own = `workflows/${name}.workflow.ts`;
      // One of several in a file stands where its steps do.
      return written.includes(own) ? own : (steps[0]?.id.replace(/#.*/, '') ?? own);
    };
    const shown = [...new Set(items.map(toFile)), ...agents.map(toAgentFile)];
    // The reserved agent is in no list.
    expect(shown.sort()).toEqual(
      written.filter((name) => /^(?!deep-agents\/studio-copilot\/)(?:workflows|deep-agents)\//.test(name)).sort(),
    );
    expect(items.filter(({ problem }) => problem !== null)).toEqual([]);
    // A box whose gate is closed says how to open it; a run that a page lets fail or block is told, and a secret it has yet to set.
    const expected =
      /^(?:.* (?:failed|is blocked): .* svc why \S+|The secret \w+ of svc\.config\.ts is not set: .*)\n/gm;
    const said = page.box.stderr().replaceAll(expected, '');
    expect(model && !edits ? said : '').toBe('');
  });

  it('has types that fit, and in which a wrong name does not', () => {
    const [, folder, right] =
      blocks.map(({ name }) => /^(workflows|deep-agents)\/([\w-]+)/.exec(name)).find(Boolean) ?? [];
    const type = folder === 'workflows' ? 'WorkflowName' : 'AgentName';
    const lines = [
      `import type { ${type} } from '@svc/runtime';`,
      `export const right: ${type} = '${right}';`,
      `// @ts-expect-error`,
      `export const wrong: ${type} = 'nowhere';`,
      `import { createClient } from '@svc/runtime/client';`,
      `export const box = createClient({ baseUrl: 'http://127.0.0.1:4242' });`,
      `export const known = box.${folder === 'workflows' ? 'workflow' : 'agent'}('${right}');`,
      `// @ts-expect-error`,
      `export const unknown = box.${folder === 'workflows' ? 'workflow' : 'agent'}('nowhere');`,
    ];
    if (folder === 'workflows')
      lines.push(
        `import { svc } from '@svc/runtime';`,
        `// @ts-expect-error`,
        `export const lost = () => svc.workflows.start('nowhere', {});`,
      );
    page.workspace.write('deep-agents/names.ts', lines.join('\n'));
    expect(typecheck(page.workspace.root)).toBe('');
  });
});

describe('a code block', () => {
  const facts = GUIDES.flatMap(({ file, facts: own }) =>
    Object.keys(own).map((name) => `${file.split('/').at(-1)}#${name}`),
  );
  const pages = ['README.md', ...listPages().filter((page) => page.startsWith('docs/guide/'))];
  const blocks = pages.flatMap(readBlocks);

  it('has a name and is a file, or run, or on the list of those that are not', () => {
    const known = [...facts, ...Object.keys(NOT_RUN)];
    const lost = blocks.filter((block) => block.name === '' || !(isFile(block) || known.includes(block.id)));
    expect(lost.map(({ id, text }) => `${id}: ${text}`)).toEqual([]);
    const shown = pages.filter((page) => readBlocks(page).length > 0);
    expect(shown.sort()).toEqual(
      [
        'README.md',
        'docs/guide/self-host.md',
        'docs/guide/start.md',
        'docs/guide/teams.md',
        ...GUIDES.map(({ file }) => file),
      ].sort(),
    );
  });

  it('is there for every fact and every reason', () => {
    const ids = blocks.map(({ id }) => id);
    expect([...facts, ...Object.keys(NOT_RUN)].filter((id) => !ids.includes(id))).toEqual([]);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });
});

describe('the pages', () => {
  it('name scripts that exist, with the pnpm that the pipeline uses', () => {
    const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> };
    const [, version = ''] = /pnpm@(\S+)/.exec(readText('.ci/run')) ?? [];
    const calls = listPages().flatMap((page) => Array.from(readText(page).matchAll(/pnpm(?:@([\d.]+))? ([a-z:]+)/g)));
    expect(calls.length).toBeGreaterThan(5);
    expect(calls.filter(([, used]) => used !== undefined && used !== version).map(([text]) => text)).toEqual([]);
    expect(calls.filter(([, , script = '']) => !Object.hasOwn(scripts, script)).map(([text]) => text)).toEqual([]);
  });

  it('name tests that are there for each promise of security', () => {
    const rows = readText('docs/reference/security.md').matchAll(/^\| (?!Promise|---).* \| (.*) \|$/gm);
    const named = Array.from(rows, ([, cell = '']) => cell.match(/(?<=`)[\w/-]+(?=`)/g) ?? []);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((files) => files.length === 0)).toEqual([]);
    expect(named.flat().filter((file) => !existsSync(join(REPOSITORY, 'packages', `${file}.test.ts`)))).toEqual([]);
  });

  it('link to files that are there', () => {
    const broken = listPages().flatMap((page) =>
      Array.from(readText(page).matchAll(/\]\(([^):#]+)(?:#[^)]*)?\)/g), ([, target = '']) => target)
        .filter((target) => !existsSync(join(REPOSITORY, dirname(page), target)))
        .map((target) => `${page}: ${target}`),
    );
    expect(broken).toEqual([]);
  });
});

// --- internal ---

/** The newest run waits for this, as a reader sees it in a list before they go on. */
async function untilWaiting(box: Box, workflow: string, kind: string): Promise<void> {
  await eventually(
    async () => {
      const { items } = await box.get<{ items: Run[] }>(`/api/runs?name=${workflow}&limit=1`);
      const { reasons } = await box.get<{ reasons: object[] }>(`/api/runs/${items[0]?.runId}/why`);
      return items[0]?.status === 'waiting' && JSON.stringify(reasons).includes(kind);
    },
    { within: 30_000 },
  );
}

function toAgentFile(name: string): string {
  return `deep-agents/${name}/index.ts`;
}
