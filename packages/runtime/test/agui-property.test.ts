import fc from 'fast-check';
import { expect, test } from 'vitest';
import { json, setupBoxes, startProvider } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { createAgent, KEY, say, serveAgui } from './_agui.ts';
import type { AguiBox, AguiEvents } from './_agui.ts';

const boxes = setupBoxes();

interface Call {
  name: string;
  arguments: string;
}

/** What the model says in one round: pieces in the order in which they come. */
interface Round {
  pieces: { kind: 'reasoning' | 'text' | 'call'; text: string; call: Call }[];
  usage: { prompt: number; completion: number; cached: number; reasoning: number };
  /** How the round ends: as said, broken off, or with a status of its own. */
  end: 'whole' | 'cut' | number;
}

const anyText = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 });
const anyCall = fc.record({
  name: fc.constantFrom('add', 'refund', 'client_tool', 'nothing'),
  arguments: fc.oneof(
    fc.constantFrom('{"a": 1,  "b":2}', '{"order":"A","amount":1}', '', '{', 'no json', '[]'),
    fc
      .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
      .map((value) => JSON.stringify(value)),
  ),
});
const anyRound: fc.Arbitrary<Round> = fc.record({
  pieces: fc.array(
    fc.record({
      kind: fc.constantFrom('reasoning' as const, 'text' as const, 'call' as const),
      text: anyText,
      call: anyCall,
    }),
    { maxLength: 6 },
  ),
  usage: fc.record({ prompt: fc.nat(999), completion: fc.nat(999), cached: fc.nat(99), reasoning: fc.nat(99) }),
  end: fc.oneof({ weight: 12, arbitrary: fc.constant('whole' as const) }, fc.constantFrom('cut' as const, 400)),
});
const anyTurn = fc.array(anyRound, { minLength: 1, maxLength: 4 });

const CLIENT_TOOL = {
  name: 'client_tool',
  description: 'Of the client.',
  parameters: { type: 'object', properties: {} },
};

async function openScripted(): Promise<{ agui: AguiBox; play(turn: Round[]): void }> {
  let turn: Round[] = [];
  let played = 0;
  const provider = await startProvider((response) => {
    const round = turn[played++] ?? {
      pieces: [],
      usage: { prompt: 1, completion: 1, cached: 0, reasoning: 0 },
      end: 'whole',
    };
    if (typeof round.end === 'number') return response.writeHead(round.end).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(toStream(round));
    if (round.end === 'cut') return response.end();
    return response.end(`${toEnd(round)}data: [DONE]\n\n`);
  });
  const box = await boxes.open({ agents: { helper: createAgent() }, provider: { baseUrl: provider.url } });
  return {
    agui: await serveAgui(box),
    play(next) {
      turn = next;
      played = 0;
    },
  };
}

test('every turn passes the client, ends once, and leaves nothing open', { timeout: 120_000 }, async () => {
  const { agui, play } = await openScripted();
  let n = 0;
  await fc.assert(
    fc.asyncProperty(anyTurn, async (turn) => {
      play(turn);
      const agent = agui.client(`thread ${n++}`);
      let received = await say(agent, 'go', { tools: [CLIENT_TOOL] });
      checkOrder(received.events);
      for (let resumes = 0; received.interrupts.length > 0 && resumes < 5; resumes++) {
        const resume = received.interrupts.map(({ id }, index) => ({
          interruptId: id,
          ...(index % 2 === 0
            ? { status: 'resolved' as const, payload: { decision: 'approve' } }
            : { status: 'cancelled' as const }),
        }));
        received = await say(agent, undefined, { tools: [CLIENT_TOOL], resume });
        checkOrder(received.events);
        expect(received.events.map(({ type }) => type as string)).not.toContain('MESSAGES_SNAPSHOT');
      }
      expect(received.interrupts).toEqual([]);
      expect(new Set(agent.messages.map(({ id }) => id)).size).toBe(agent.messages.length);
    }),
    { numRuns: 60 },
  );
});

test('the same turn says the same on the other wires', { timeout: 120_000 }, async () => {
  const { agui, play } = await openScripted();
  let n = 0;
  await fc.assert(
    fc.asyncProperty(anyTurn, async (given) => {
      const turn = given.map((round) => ({
        ...round,
        end: 'whole' as const,
        pieces: round.pieces.filter(
          ({ kind, call }) => kind !== 'call' || call.name === 'add' || call.name === 'nothing',
        ),
      }));
      play(turn);
      const said = toSaid((await say(agui.client(`same ${n++}`), 'go')).events);
      play(turn);
      expect(await askWireA(agui.box)).toEqual(said);
      play(turn);
      expect(await askWireB(agui.box)).toEqual(toWireB(said));
    }),
    { numRuns: 40 },
  );
});

// --- internal ---

interface Said {
  text: string;
  reasoning: string;
  calls: { id: string; name: string; args: string }[];
  usage: { input: number; output: number; total: number; cached: number; reasoning: number };
}

function toSaid(events: AguiEvents): Said {
  const join = (type: string, of = events) =>
    of.map((event) => (event.type === type ? String(event.delta) : '')).join('');
  const [usage] = (events.at(-1)?.usage ?? []) as Record<string, number>[];
  return {
    text: join('TEXT_MESSAGE_CONTENT'),
    reasoning: join('REASONING_MESSAGE_CONTENT'),
    calls: events
      .filter(({ type }) => type === 'TOOL_CALL_START')
      .map(({ toolCallId: id, toolCallName: name }) => ({
        id: String(id),
        name: String(name),
        args: join(
          'TOOL_CALL_ARGS',
          events.filter((event) => event.toolCallId === id),
        ),
      })),
    usage: {
      input: usage?.inputTokens ?? 0,
      output: usage?.outputTokens ?? 0,
      total: usage?.totalTokens ?? 0,
      cached: usage?.cachedInputTokens ?? 0,
      reasoning: usage?.reasoningTokens ?? 0,
    },
  };
}

async function askWireA(box: TestBox): Promise<Said> {
  const body = { model: 'helper', messages: [{ role: 'user', content: 'go' }] };
  const answer = await box.request('/wire-a/v1/chat/completions', json(body, { headers: KEY }));
  const { choices, usage } = (await answer.json()) as {
    choices: {
      message: {
        content: string | null;
        reasoning_content?: string;
        tool_calls?: { id: string; function: { name: string; arguments: string } }[];
      };
    }[];
    usage: {
      prompt_tokens: number;
      completion_tokens: number;
      total_tokens: number;
      prompt_tokens_details: { cached_tokens: number };
      completion_tokens_details: { reasoning_tokens: number };
    };
  };
  const message = choices[0]?.message;
  return {
    text: message?.content ?? '',
    reasoning: message?.reasoning_content ?? '',
    calls: (message?.tool_calls ?? []).map(({ id, function: called }) => ({
      id,
      name: called.name,
      args: called.arguments,
    })),
    usage: {
      input: usage.prompt_tokens,
      output: usage.completion_tokens,
      total: usage.total_tokens,
      cached: usage.prompt_tokens_details.cached_tokens,
      reasoning: usage.completion_tokens_details.reasoning_tokens,
    },
  };
}

/** What the messages wire has of it: arguments are objects there, as the model wrote them, and what came from a cache is counted apart. */
function toWireB({ text, reasoning, calls, usage }: Said) {
  const { input, cached, output } = usage;
  return {
    text,
    reasoning,
    calls: calls.map((call) => ({ ...call, args: isObject(call.args) ? call.args : '{}' })),
    usage: { input: Math.max(input - cached, 0), output, cached },
  };
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

async function askWireB(box: TestBox) {
  const body = { model: 'helper', max_tokens: 1_000, stream: true, messages: [{ role: 'user', content: 'go' }] };
  const answer = await box.request('/wire-b/v1/messages', json(body, { headers: KEY }));
  const events = Array.from(
    (await answer.text()).matchAll(/^data: (.*)$/gm),
    ([, data = '']) => JSON.parse(data) as MessageEvent,
  );
  const deltas = (key: 'text' | 'thinking' | 'partial_json', at?: number) =>
    events.map(({ index, delta }) => (at === undefined || index === at ? (delta?.[key] ?? '') : '')).join('');
  const { usage } = events.findLast((event) => event.usage) ?? {};
  return {
    text: deltas('text'),
    reasoning: deltas('thinking'),
    calls: events.flatMap(({ index, content_block: block }) =>
      block?.type === 'tool_use' ? { id: block.id, name: block.name, args: deltas('partial_json', index) } : [],
    ),
    usage: { input: usage?.input_tokens, output: usage?.output_tokens, cached: usage?.cache_read_input_tokens },
  };
}

interface MessageEvent {
  index?: number;
  content_block?: { type: string; id?: string; name?: string };
  delta?: { text?: string; thinking?: string; partial_json?: string };
  usage?: { input_tokens?: number; output_tokens?: number; cache_read_input_tokens?: number };
}

/** The order the protocol asks for, checked apart from the client: what begins ends, and one event is the last. */
function checkOrder(events: AguiEvents): void {
  const open = new Set<string>();
  const types = events.map(({ type }) => type as string);
  expect(types[0]).toBe('RUN_STARTED');
  expect(types.filter((type) => type === 'RUN_FINISHED' || type === 'RUN_ERROR')).toEqual([types.at(-1)]);
  for (const event of events) {
    const id = String(event.messageId ?? event.toolCallId ?? event.stepName);
    const [, what, edge] = /^(.*?)_?(STARTED|START|CONTENT|ARGS|FINISHED|END)$/.exec(event.type) ?? [];
    if (what === undefined || what === 'RUN') continue;
    const key = `${what} ${id}`;
    const begins = edge?.startsWith('START') === true;
    expect([key, open.has(key)]).toEqual([key, !begins]);
    if (begins) open.add(key);
    if (edge === 'END' || edge === 'FINISHED') open.delete(key);
  }
  expect([...open]).toEqual([]);
}

function toStream({ pieces }: Round): string {
  let calls = 0;
  return pieces
    .map((piece) => frame({ choices: [{ index: 0, delta: toDelta(piece, () => calls++), finish_reason: null }] }))
    .join('');
}

function toDelta({ kind, text, call }: Round['pieces'][number], nextIndex: () => number): object {
  if (kind === 'text') return { content: text };
  if (kind === 'reasoning') return { reasoning_content: text };
  const index = nextIndex();
  return { tool_calls: [{ index, id: `call_${index}`, type: 'function', function: call }] };
}

function toEnd({ usage }: Round): string {
  const { cached, reasoning } = usage;
  // Totals include their parts.
  const prompt = usage.prompt + cached;
  const completion = usage.completion + reasoning;
  return (
    frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) +
    frame({
      choices: [],
      usage: {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt + completion,
        prompt_tokens_details: { cached_tokens: cached },
        completion_tokens_details: { reasoning_tokens: reasoning },
      },
    })
  );
}

function frame(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
