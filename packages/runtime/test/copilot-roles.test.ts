import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROLES } from '../src/auth/permissions.ts';
import { createClient } from '../src/client.ts';
import type { OperationId } from '../src/client.ts';
import { createLog } from '../src/log.ts';
import type { Operation } from '../src/operations/define.ts';
import { OPERATIONS } from '../src/surface/index.ts';
import { answersOf, codeOf, confirm, decide, startPlayedModel, talk } from './_copilot.ts';
import type { PlayedModel, Told, ToolUse } from './_copilot.ts';
import { startPlane } from './_plane.ts';
import type { Plane } from './_plane.ts';
import { call, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';

type Json = Record<string, unknown>;

const boxes = setupBoxes();
const log = createLog({ level: 'silent', write: () => {} });
let plane: Plane;
let model: PlayedModel;
let box: TestBox;

beforeAll(async () => {
  plane = await startPlane();
  model = await startPlayedModel();
  const options = { host: 'image', strategy: plane.strategy({ log }) } as const;
  box = await boxes.share({ provider: { baseUrl: model.url, apiKey: 'key' }, options })();
  await call(box, 'PUT /api/settings/copilot', { enabled: true }, await as('owner'));
  await call(box, 'PUT /api/secrets/BANK', { value: 'one' }, await as('owner'));
});
afterAll(async () => {
  await plane.close();
  await model.close();
});

/** Of those that need more than their path names: what none of them finds, or changes twice. */
const INPUTS: Record<string, () => Json> = {
  'approvals.decide': () => ({ decision: 'reject' }),
  'memory.clear': () => ({ user: 'none' }),
  'provider.set': () => ({ baseUrl: model.url, apiKey: 'other' }),
  'runs.cancel_all': () => ({ name: 'none' }),
  'runs.fork': () => ({ from: 'start', etag: 'none' }),
  'runs.rewind': () => ({ from: 'start', etag: 'none' }),
  'runs.delete_all': () => ({ name: 'none' }),
  'runs.retry_all': () => ({ name: 'none' }),
  'secrets.rotate': () => ({ value: 'two' }),
  // There is one of that name.
  'secrets.set': () => ({ name: 'BANK', value: 'one' }),
  // There is no such workflow.
  'triggers.create': () => ({
    name: 'one',
    target: { workflow: 'none' },
    signature: { scheme: 'token' },
    secret: 'a'.repeat(32),
  }),
  'workflows.start': () => ({ input: {} }),
};
const CALLED = OPERATIONS.filter(({ copilot }) => copilot === 'yes');

test.each(ROLES)('%s may through the copilot what they may over HTTP, at every operation', async (role) => {
  const headers = await as(role);
  const throughCopilot = await askFor(role, headers);
  const client = createClient({
    baseUrl: 'http://box.test',
    headers,
    fetch: async (request) => box.app.request(request),
  });
  const differ: string[] = [];
  for (const op of CALLED) {
    const overHttp = await client.call(op.id as OperationId, toInput(op) as never).then(
      () => 'may',
      (error: { code?: string }) => error.code ?? String(error),
    );
    const answer = throughCopilot.get(op.id);
    const isRefused = answer === undefined || typeof answer.message === 'string';
    const asCopilot = isRefused ? String(codeOf(answer)) : 'may';
    if (asCopilot !== overHttp) differ.push(`${op.id}: ${asCopilot} through the copilot, ${overHttp} over HTTP`);
  }
  expect(differ).toEqual([]);
});

// --- internal ---

async function as(role: string): Promise<Record<string, string>> {
  return { authorization: `Bearer ${await plane.mint(role, { claims: { sub: role, name: role } })}` };
}

function toInput({ id, route }: Operation): Json {
  const named = [...route.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, NOTHING]);
  return { ...Object.fromEntries(named), ...INPUTS[id]?.() };
}

/** The id of nothing there is. */
const NOTHING = '11111111-2222-4333-8444-555555555555';

/** What the copilot is answered by each operation; one that asks for a confirmation, once the person has approved. */
async function askFor(role: string, headers: Record<string, string>): Promise<Map<string, Json>> {
  const calls = CALLED.map((op): ToolUse => ({
    tool: `call_${op.kind}_operation`,
    args: { operation: op.id, input: toInput(op) },
  }));
  model.play = (_asked, results) => {
    if (results.length === 0) return calls;
    const asked = results.filter((result) => codeOf(result) === 'confirmation_required');
    return results.length > calls.length || asked.length === 0 ? 'Done.' : asked.flatMap(confirm);
  };
  const told = await talk(box, role, { text: 'All of it.', headers });
  const marked = CALLED.filter(({ confirm: isMarked }) => isMarked);
  expect(told.interrupts).toHaveLength(marked.length);
  const done = await decide(box, role, told, { decision: 'approve' }, headers);
  return answersOf({ ...done, events: [...told.events, ...done.events] } satisfies Told);
}
