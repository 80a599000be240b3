import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/index.ts';
import type { CheckPlace, GuardrailDefinition } from '../src/index.ts';
import { call, json, setupBoxes, startProvider, toModelStream } from './_setup.ts';
import type { TestBox } from './_setup.ts';

type Body = Record<string, unknown>;

const boxes = setupBoxes();
const KEY = { authorization: 'Bearer dev' };

/** What each wire is asked with, and where in its answers an agent speaks. A member that is a piece goes on with the one before. */
const WIRES = {
  'wire A': { path: '/wire-a/v1/chat/completions', toBody: toChat, refused: '"finish_reason":"content_filter"' },
  'wire A, streamed': {
    path: '/wire-a/v1/chat/completions',
    toBody: (agent: string) => ({ ...toChat(agent), stream: true }),
    refused: '"finish_reason":"content_filter"',
  },
  'wire B': { path: '/wire-b/v1/messages', toBody: toMessages, refused: '"stop_reason":"refusal"' },
  'wire B, streamed': {
    path: '/wire-b/v1/messages',
    toBody: (agent: string) => ({ ...toMessages(agent), stream: true }),
    refused: '"stop_reason":"refusal"',
  },
  'AG-UI': { path: '/agui/v1/agents/:agent', toBody: toRun, refused: '"finishReason":"content_filter"' },
  'UI messages': { path: '/ui/v1/agents/:agent', toBody: toUi, refused: '"finishReason":"content-filter"' },
};
const NAMES = Object.keys(WIRES) as (keyof typeof WIRES)[];
const PIECES = new Set(['content', 'reasoning_content', 'text', 'thinking', 'partial_json', 'arguments', 'delta']);

interface Piece {
  kind: 'text' | 'reasoning' | 'call';
  text: string;
}

interface Scripted {
  box: TestBox;
  agent: string;
  /** What the model says in its next reply, in pieces of so many characters; then it says `end`. */
  play(pieces: readonly Piece[], size: () => number): void;
  ask(wire: keyof typeof WIRES): Promise<{ status: number; body: string }>;
}

let names = 0;

async function openScripted(guardrails: GuardrailDefinition[] = []): Promise<Scripted> {
  const agent = `wire-agent-${++names}`;
  let replies: string[] = [];
  const provider = await startProvider((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(replies.shift() ?? toModelStream([{ content: 'end' }]));
  });
  const note = defineTool({
    description: 'Keep a note.',
    inputSchema: z.object({ text: z.string() }),
    execute: ({ text }) => `noted ${text}`,
  });
  const helper = defineDeepAgent({ name: agent, tools: { note }, guardrails });
  const box = await boxes.open({
    agents: { [agent]: helper },
    workflows: { [agent]: { run: (input: unknown) => input } },
    provider: { baseUrl: provider.url },
  });
  return {
    box,
    agent,
    play: (pieces, size) => void (replies = [toReply(pieces, size)]),
    async ask(wire) {
      const { path, toBody } = WIRES[wire];
      const answer = await box.request(path.replace(':agent', agent), json(toBody(agent), { headers: KEY }));
      return { status: answer.status, body: await answer.text() };
    },
  };
}

const addRule = async ({ box, agent }: Scripted, more: Body): Promise<string> => {
  const rule = { name: `wires-${++names}`, attachment: { kind: 'agent', name: agent }, ...more };
  const { status, body } = await call<{ id: string }>(box, 'POST /api/guardrails', rule);
  expect(status).toBe(201);
  return body.id;
};
const SIDES = ['agent-output', 'tool-call', 'tool-result'] as const;
const WORDS = { kind: 'words', words: ['forbidden'] };

test('a turn is blocked at the same place on every wire, which ends it with its own form for refused content', async () => {
  const scripted = await openScripted();
  await addRule(scripted, { check: WORDS, sides: ['agent-output'], action: 'block' });
  for (const wire of NAMES) {
    scripted.play([{ kind: 'text', text: 'that is forbidden here' }], () => 3);
    const { status, body } = await scripted.ask(wire);
    expect([wire, status, toSaid(body).text, body.includes(WIRES[wire].refused)]).toEqual([
      wire,
      200,
      'that is ',
      true,
    ]);
    expect(body).not.toContain('here');
  }
});

test('what an agent is asked is refused on every wire with the rule, before a turn begins', async () => {
  const scripted = await openScripted();
  await addRule(scripted, { check: { kind: 'words', words: ['go'] }, sides: ['agent-input'], action: 'block' });
  for (const wire of NAMES) {
    const { status, body } = await scripted.ask(wire);
    expect([wire, status]).toEqual([wire, 422]);
    expect(body).toMatch(/The guardrail \\"wires-\d+\\" refuses what agent/);
  }
  expect((await call(scripted.box, `GET /api/runs?name=${scripted.agent}`)).body.items).toEqual([]);
});

const VALUES = ['4111 1111 1111 1111', '5555555555554444', 'ada.l@example.com', 'DE89370400440532013000'];
const anyValue = fc.constantFrom(...VALUES);
const anyFiller = fc.constantFrom(' ', 'see ', ', and\n', '(', 'é 😀 ', 'x: ');
const anyText = fc
  .array(fc.tuple(anyFiller, anyValue, anyFiller), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.flat().join(''));
const anyPieces = fc.array(
  fc.record({ kind: fc.constantFrom('text' as const, 'reasoning' as const), text: anyText, cut: fc.nat(40) }),
  { minLength: 1, maxLength: 3 },
);
const anyTurn = fc.record({
  pieces: anyPieces,
  note: fc.option(anyText, { nil: undefined }),
  sizes: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 }),
  wire: fc.constantFrom(...NAMES),
});

const KINDS = { kind: 'pii', kinds: ['card', 'email', 'iban'] };
/** Finds the same values, asked once about all of a text. */
const findValues = async ({ text }: { text: string }): Promise<CheckPlace[]> =>
  VALUES.flatMap((value) => {
    const label = value.includes('@') ? 'email' : 'card';
    return Array.from(text.matchAll(new RegExp(value, 'g')), ({ index }) => ({
      start: index,
      end: index + value.length,
      label,
    }));
  });

test.each([
  ['a rule', false],
  ['a rule in code', true],
])('a value that %s masks is in no part of an answer, however it is cut and interrupted', async (_, isInCode) => {
  const inCode = { name: 'values', sides: SIDES, action: 'mask', check: findValues } as const;
  const scripted = await openScripted(isInCode ? [inCode] : []);
  if (!isInCode) await addRule(scripted, { check: KINDS, sides: SIDES, action: 'mask' });
  await fc.assert(
    fc.asyncProperty(anyTurn, async ({ pieces, note, sizes, wire }) => {
      // Half of a text, something else, and the other half.
      const said = pieces.flatMap(({ kind, text, cut }): Piece[] => [
        { kind, text: text.slice(0, cut) },
        { kind: kind === 'text' ? 'reasoning' : 'text', text: 'then ' },
        { kind, text: text.slice(cut) },
      ]);
      const calls: Piece[] = note === undefined ? [] : [{ kind: 'call', text: JSON.stringify({ text: note }) }];
      let at = 0;
      scripted.play([...said, ...calls], () => sizes[at++ % sizes.length] as number);
      const { status, body } = await scripted.ask(wire);
      expect(status).toBe(200);
      for (const text of [body, ...Object.values(toSaid(body))])
        for (const value of VALUES) expect(text).not.toContain(value);
    }),
    { numRuns: isInCode ? 30 : 60, seed: Number(process.env.SVC_TEST_GUARDRAILS_SEED ?? 7) },
  );
  const runs = (
    await call<{ items: { runId: string }[] }>(scripted.box, `GET /api/runs?name=${scripted.agent}&limit=100`)
  ).body.items;
  const steps = await Promise.all(runs.map(({ runId }) => call(scripted.box, `GET /api/runs/${runId}/steps`)));
  const recorded = JSON.stringify(steps.map(({ body }) => body));
  expect(recorded).toMatch(/\[card\].*\[email\]|\[email\].*\[card\]/);
  for (const value of VALUES) {
    expect(recorded).not.toContain(value);
    expect(JSON.stringify(scripted.box.logs)).not.toContain(value);
  }
});

const anyVerdict = fc.record({
  text: fc.oneof(anyText, fc.constantFrom('see the weather', '4111 1111 1111 1112', 'ada.l at example.com')),
  sizes: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 }),
});

test.each(['mask', 'block'])(
  'a text that a rule would %s has one verdict on every wire and as the input of a workflow',
  async (action) => {
    const scripted = await openScripted();
    const { box, agent } = scripted;
    const attachment = { kind: 'workspace' };
    const id = await addRule(scripted, { check: KINDS, sides: ['workflow-input', 'agent-output'], action, attachment });
    const seen = new Set<string>();
    /** The reason of what was found since: '' where nothing was. */
    const findReason = async (): Promise<string> => {
      type Hits = { items: { id: string; ruleId: string; reason: string }[] };
      const { items } = (await call<Hits>(box, 'GET /api/guardrails/hits?limit=100')).body;
      const fresh = items.filter((hit) => hit.ruleId === id && !seen.has(hit.id));
      for (const hit of fresh) seen.add(hit.id);
      return fresh.map(({ reason }) => reason).join(' ');
    };
    const verdicts = new Set<boolean>();
    try {
      await fc.assert(
        fc.asyncProperty(anyVerdict, async ({ text, sizes }) => {
          const start = await call(box, `POST /api/workflows/${agent}/start`, text);
          const reason = await findReason();
          const isBlocked = start.status === 422;
          expect(isBlocked).toBe(action === 'block' && reason !== '');
          verdicts.add(reason !== '');
          const run = isBlocked ? undefined : await call(box, `GET /api/runs/${String(start.body.runId)}`);
          for (const wire of NAMES) {
            let at = 0;
            scripted.play([{ kind: 'text', text }], () => sizes[at++ % sizes.length] as number);
            const { status, body } = await scripted.ask(wire);
            const said = toSaid(body).text;
            expect([wire, status, body.includes(WIRES[wire].refused), await findReason()]).toEqual([
              wire,
              200,
              isBlocked,
              reason,
            ]);
            const passes = run ? said === run.body.input : said !== text && text.startsWith(said);
            expect([wire, said, passes]).toEqual([wire, said, true]);
          }
        }),
        { numRuns: 12, seed: Number(process.env.SVC_TEST_GUARDRAILS_SEED ?? 7) },
      );
      expect(verdicts.size).toBe(2);
    } finally {
      await box.request(`/api/guardrails/${id}`, { method: 'DELETE' });
    }
  },
);

// --- internal ---

function toChat(agent: string): Body {
  return { model: agent, messages: [{ role: 'user', content: 'go' }] };
}

function toMessages(agent: string): Body {
  return { ...toChat(agent), max_tokens: 1_000 };
}

function toRun(): Body {
  const id = `run-${++names}`;
  const messages = [{ id: 'm', role: 'user', content: 'go' }];
  return { threadId: id, runId: id, messages, tools: [], context: [], state: {}, forwardedProps: {} };
}

function toUi(): Body {
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'go' }] }];
  return { id: `chat-${++names}`, trigger: 'submit-message', messages };
}

function toReply(pieces: readonly Piece[], size: () => number): string {
  const deltas: object[] = [];
  let calls = 0;
  for (const { kind, text } of pieces) {
    const index = kind === 'call' ? calls++ : 0;
    const toDelta = (piece: string) => {
      if (kind === 'text') return { content: piece };
      if (kind === 'reasoning') return { reasoning_content: piece };
      return { tool_calls: [{ index, function: { arguments: piece } }] };
    };
    if (kind === 'call')
      deltas.push({ tool_calls: [{ index, id: `c${++names}`, type: 'function', function: { name: 'note' } }] });
    for (let at = 0; at < text.length;) {
      const end = at + size();
      deltas.push(toDelta(text.slice(at, end)));
      at = end;
    }
  }
  return toModelStream(deltas, calls > 0 ? 'tool_calls' : 'stop');
}

/** All an answer says, joined by where it says it. */
function toSaid(body: string): Record<string, string> & { text: string } {
  const joined: Record<string, string> = {};
  const frames = body.startsWith('{') ? [body] : Array.from(body.matchAll(/^data: (\{.*)$/gm), ([, data = '']) => data);
  const read = (value: unknown, kind: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, item] of Object.entries(value)) {
      if (typeof item !== 'string') read(item, kind);
      else if (PIECES.has(key)) joined[`${kind} ${key}`] = (joined[`${kind} ${key}`] ?? '') + item;
    }
  };
  for (const frame of frames) {
    const value = JSON.parse(frame) as Body;
    read(value, typeof value.type === 'string' ? value.type : '');
  }
  const texts = Object.entries(joined).filter(([key]) => TEXTS.has(key));
  return { ...joined, text: texts.map(([, text]) => text).join('') };
}

const TEXTS = new Set([
  ' content',
  'message text',
  'content_block_delta text',
  'TEXT_MESSAGE_CONTENT delta',
  'text-delta delta',
]);
