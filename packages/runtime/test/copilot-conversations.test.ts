import { afterAll, beforeAll, expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { FatalError } from '../src/engine/errors.ts';
import { setAttributes } from '../src/index.ts';
import { createLog } from '../src/log.ts';
import { codeOf, confirm, decide, inTurn, read, startPlayedModel, talk, use, write } from './_copilot.ts';
import type { PlayedModel, TalkOptions, Told, ToolUse } from './_copilot.ts';
import { startPlane } from './_plane.ts';
import type { Plane } from './_plane.ts';
import { call, setupBoxes, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

type Json = Record<string, unknown>;
type Headers = Record<string, string>;

const boxes = setupBoxes();
const log = createLog({ level: 'silent', write: () => {} });
let plane: Plane;
let model: PlayedModel;
let box: TestBox;
let owner: Headers;
/** Whether the bank takes cards. */
let isOpen = false;

const charge = toStep('charge', ({ order }: { order: number }) => {
  if (!isOpen) throw new FatalError(`The card of order ${order} was declined.`);
  return { charged: order };
});
const program = {
  agents: { triage: defineDeepAgent({ name: 'triage', instructions: 'Be correct.' }) },
  workflows: {
    charge: { run: (input: { order: number }) => charge(input) },
    refund: {
      async run({ order }: { order: number }) {
        setAttributes({ order: String(order) });
        return { refunded: order };
      },
    },
  },
};

beforeAll(async () => {
  plane = await startPlane();
  model = await startPlayedModel();
  owner = await as('owner');
  const options = { host: 'image', strategy: plane.strategy({ log }) } as const;
  box = await boxes.share({ ...program, provider: { baseUrl: model.url, apiKey: 'key' }, options })();
  await call(box, 'PUT /api/settings/copilot', { enabled: true }, owner);
});
afterAll(async () => {
  await plane.close();
  await model.close();
});

/** The model finds an operation by what the person said, and calls it if it is among the first five. */
const finds = (words: string, wanted: string, calls: (last: Json) => ToolUse[]) => [
  use('list_operations', { query: words }),
  ({ operations }: Json) => {
    const first = (operations as { id: string }[]).slice(0, 5).map(({ id }) => id);
    return first.includes(wanted) ? use('describe_operation', { operation: wanted }) : `Not found: ${first.join()}`;
  },
  calls,
];

test('"why did this run fail": it says which step and why, of the run on the screen', async () => {
  const runId = await runOf('charge', { order: 17 });
  model.play = inTurn(
    ...finds('why did this run fail', 'runs.why', () => read('runs.why', { id: pointed().runId })),
    () => read('runs.steps', { id: pointed().runId }),
    ({ items }) => {
      const failed = (items as { name: string; status: string; error: Json | null }[]).find(
        ({ error }) => error !== null,
      );
      return `"${failed?.name}" failed: ${String(failed?.error?.message)}`;
    },
  );
  const { text, results } = await ask('why', 'Why did this run fail?', { pointer: { screen: 'run', runId } });
  expect(text).toBe('"charge" failed: The card of order 17 was declined.');
  expect(results[2]).toMatchObject({
    runId,
    status: 'failed',
    lastError: { message: 'The card of order 17 was declined.' },
  });
  expect(await writesOf('why')).toEqual([]);
});

test('"retry the failed runs of today": it counts them, asks, and each goes on once', async () => {
  const filter = { name: 'charge', from: `${new Date().toISOString().slice(0, 10)}T00:00:00Z` };
  const failed = [await runOf('charge', { order: 1 }), await runOf('charge', { order: 2 })];
  let counted = 0;
  isOpen = true;
  model.play = inTurn(
    ...finds('retry the failed runs of today', 'runs.retry_all', () =>
      read('runs.list', { ...filter, status: 'failed' }),
    ),
    ({ items }) => {
      counted = (items as Json[]).length;
      return write('runs.retry_all', { ...filter, status: 'failed' });
    },
    confirm,
    ({ matched, done }) => `${String(done)} of ${String(matched)} have been started anew.`,
  );
  const told = await ask('retry', 'Retry the failed runs of today.');
  expect(codeOf(told.results.at(-1))).toBe('confirmation_required');
  expect(told.interrupts[0]?.metadata.svc.arguments).toMatchObject({
    operation: 'runs.retry_all',
    input: { ...filter, status: 'failed' },
  });
  expect(await retriesOf(failed)).toEqual([0, 0]);
  const { text } = await decide(box, 'retry', told, { decision: 'approve' }, await as('owner', 'retry'));
  expect(text).toBe(`${counted} of ${counted} have been started anew.`);
  expect(await retriesOf(failed)).toEqual([1, 1]);
  expect(await writesOf('retry')).toEqual(['runs.retry_all by the copilot', 'approvals.decide by the chat']);
});

test('"make a prompt version that is friendlier, and publish it": the agent answers by it', async () => {
  const key = { ownerKind: 'agent', ownerName: 'triage', key: 'instructions' };
  const { body: prompt } = await call(box, 'POST /api/prompts', { ...key, name: 'Triage', text: 'Be brief.' }, owner);
  const { id } = prompt;
  await call(box, `POST /api/prompts/${String(id)}/publish`, { version: 1 }, owner);
  model.play = inTurn(
    ...finds('make a prompt version that is friendlier', 'prompts.add_version', () =>
      read('prompts.list', { ownerKind: 'agent', ownerName: 'triage' }),
    ),
    ({ items }) => read('prompts.version', { id: (items as Json[])[0]?.id, version: 1 }),
    ({ text }) => write('prompts.add_version', { id, text: `${String(text)} Be friendly.`, note: 'Friendlier' }),
    ({ version }) => write('prompts.publish', { id, version }),
    (last) => `Version ${String((last.publishedVersion ?? last.published) as number)} is live.`,
  );
  const { text, interrupts } = await ask('prompt', 'Make a version of its prompt that is friendlier and publish it.', {
    pointer: { screen: 'agent', agentName: 'triage' },
  });
  expect([text, interrupts]).toEqual(['Version 2 is live.', []]);
  expect(await writesOf('prompt')).toEqual(['prompts.publish by the copilot', 'prompts.add_version by the copilot']);
  expect(await greet('triage')).toBe('Be brief. Be friendly.');
});

test('"what did the agent spend this week": the tokens of its turns, for callers who may see runs', async () => {
  await greet('triage');
  // What models have used is counted behind the turn.
  await until(async () => (await itemsOf(`/api/usage?kind=agent&id=triage`)).length > 0);
  const from = new Date(Date.now() - 7 * 86_400_000).toISOString();
  const plays = inTurn(
    ...finds('what did the agent triage spend this week', 'usage.list', () => read('usage.list', SPENT)),
    (last) => (codeOf(last) === undefined ? read('discovery.get', {}) : read('runs.stats', { name: 'triage', from })),
    (last) => JSON.stringify(last),
  );
  model.play = plays;
  const asOwner = await ask('spent', 'What did the agent triage spend this week?');
  const { items } = asOwner.results[2] as { items: { tokens: number }[] };
  expect(items[0]?.tokens).toBeGreaterThanOrEqual(15);
  model.play = plays;
  const asViewer = await ask('spent too', 'What did the agent triage spend this week?', { role: 'viewer' });
  expect(asViewer.results[2]).toMatchObject({ code: 'forbidden', details: { permission: 'keys:read' } });
  const counted = asViewer.results[3] as { items: { totalTokens: number }[] };
  const total = counted.items.reduce((sum, { totalTokens }) => sum + totalTokens, 0);
  const turns = await itemsOf('/api/runs?name=triage');
  expect(total).toBe(turns.reduce((sum, { totalTokens }) => sum + Number(totalTokens), 0));
});

test('"open the run that refunded order 17": it is found by its mark, and the dashboard opens it', async () => {
  const [, runId] = [await runOf('refund', { order: 16 }), await runOf('refund', { order: 17 })];
  const tools = [{ name: 'navigate', description: 'Open a screen.', parameters: { type: 'object' } }];
  model.play = inTurn(
    ...finds('open the run that refunded order 17', 'runs.get', () =>
      read('runs.list', { name: 'refund', attribute: 'order:17' }),
    ),
    ({ items }) => use('navigate', { screen: 'runs', item: (items as Json[])[0]?.runId }),
    ({ text }) => `It is ${String(text)}.`,
  );
  const told = await ask('open', 'Open the run that refunded order 17.', { tools });
  const called = told.events.find(
    ({ type, toolCallName }) => type === 'TOOL_CALL_START' && toolCallName === 'navigate',
  );
  const args = told.events.filter(
    ({ type, toolCallId }) => type === 'TOOL_CALL_ARGS' && toolCallId === called?.toolCallId,
  );
  expect(JSON.parse(args.map(({ delta }) => String(delta)).join(''))).toEqual({ screen: 'runs', item: runId });
  expect(await getRunOf(runId)).toMatchObject({ output: { refunded: 17 } });
  const answered = [{ id: 'opened', role: 'tool', toolCallId: called?.toolCallId, content: 'open' }];
  const done = await talk(box, 'open', { messages: answered, tools, headers: await as('owner', 'open') });
  expect(done.text).toBe('It is open.');
  expect(await writesOf('open')).toEqual([]);
});

// --- internal ---

const SPENT = { kind: 'agent', id: 'triage', period: 'day', limit: 7 };

async function as(role: string, sub = role): Promise<Headers> {
  return { authorization: `Bearer ${await plane.mint(role, { claims: { sub, name: sub } })}` };
}

/** A run of a workflow that has ended. */
async function runOf(workflow: string, input: unknown): Promise<string> {
  const { body } = await call(box, `POST /api/workflows/${workflow}/start`, input, owner);
  const id = String(body.runId);
  await call(box, `GET /api/runs/${id}?wait=20s`, undefined, owner);
  return id;
}

const getRunOf = async (id: string) => (await call(box, `GET /api/runs/${id}`, undefined, owner)).body;

const itemsOf = async (path: string): Promise<Json[]> =>
  (await call<{ items: Json[] }>(box, `GET ${path}`, undefined, owner)).body.items;

const retriesOf = (ids: string[]) =>
  Promise.all(ids.map(async (id) => (await itemsOf(`/api/runs?retryOf=${id}`)).length));

interface Asking extends Pick<TalkOptions, 'tools'> {
  pointer?: Json;
  role?: string;
}

/** A person of that name asks. */
async function ask(name: string, text: string, { pointer, role = 'owner', ...options }: Asking = {}): Promise<Told> {
  const context = pointer ? [{ description: 'pointer', value: JSON.stringify(pointer) }] : [];
  return talk(box, name, { text, headers: await as(role, name), context, ...options });
}

/** What the model has been told of the screen. */
function pointed(): Json {
  const system = String(model.asked.at(-1)?.messages[0]?.content);
  return JSON.parse(system.slice(system.lastIndexOf('{'))) as Json;
}

/** What a person has had changed, newest first. */
const writesOf = async (name: string) =>
  (await itemsOf(`/api/activity?actor=person%20${name}`)).map(
    ({ operation, source }) => `${String(operation)} by the ${String(source)}`,
  );

/** The instructions by which an agent answers. */
async function greet(agent: string): Promise<string> {
  model.play = () => 'Hello.';
  const body = { model: agent, messages: [{ role: 'user', content: 'Hi' }] };
  expect((await call(box, 'POST /wire-a/v1/chat/completions', body, owner)).status).toBe(200);
  return String(model.asked.at(-1)?.messages[0]?.content);
}
