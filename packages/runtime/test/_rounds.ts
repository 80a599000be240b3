import fc from 'fast-check';
import { startProvider } from './_setup.ts';

export interface Call {
  name: string;
  arguments: string;
}

/** What the model says in one round, and how the provider cuts it up. */
export interface Round {
  reasoning: string;
  text: string;
  calls: Call[];
  usage: { prompt: number; completion: number; cached: number; reasoning: number };
  /** Lengths of the pieces of reasoning, text and arguments, used in turn. */
  pieces: number[];
  /** Which call the next fragment of arguments belongs to, used in turn. */
  order: number[];
  /** Lengths in bytes of what is written at once, used in turn. */
  writes: number[];
}

const anyText = fc.string({ unit: 'binary', maxLength: 40 });
const anyRound = (calls: fc.Arbitrary<Call[]>): fc.Arbitrary<Round> =>
  fc.record({
    reasoning: anyText,
    text: anyText,
    calls,
    usage: fc.record({ prompt: fc.nat(999), completion: fc.nat(999), cached: fc.nat(99), reasoning: fc.nat(99) }),
    pieces: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
    order: fc.array(fc.nat(3), { minLength: 1, maxLength: 8 }),
    writes: fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 4 }),
  });
const anyCall = fc.record({
  name: fc.constantFrom('add', 'look_up'),
  arguments: fc.oneof(
    fc
      .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
      .map((v) => JSON.stringify(v)),
    fc.constantFrom('', '{', '{"a":', 'no json', '[]', '{} '),
  ),
});
export const anyTurn = fc
  .tuple(
    fc.array(anyRound(fc.array(anyCall, { minLength: 1, maxLength: 4 })), { maxLength: 2 }),
    anyRound(fc.constant([])),
  )
  .map(([rounds, last]) => [...rounds, last]);

/** A provider that plays the rounds of one turn, as they are cut up. */
export async function startRounds(): Promise<{ url: string; play(rounds: Round[]): void }> {
  let turn: Round[] = [];
  const provider = await startProvider((response, { messages }) => {
    const played = (messages as { tool_calls?: unknown }[]).filter((message) => message.tool_calls).length;
    const round = turn[played];
    if (!round) return response.writeHead(400).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const part of cutBytes(Buffer.from(toFrames(round)), round.writes)) response.write(part);
    return response.end();
  });
  return { url: provider.url, play: (rounds) => void (turn = rounds) };
}

export function allCalls(rounds: Round[]): Call[] {
  return rounds.flatMap((round) => round.calls);
}

// --- internal ---

/** The round as a provider streams it; ids begin again in every round, as some providers' do. */
function toFrames({ reasoning, text, calls, usage, pieces, order }: Round): string {
  const deltas: object[] = [{ role: 'assistant', content: '' }];
  for (const piece of cut(reasoning, pieces)) deltas.push({ reasoning_content: piece });
  for (const piece of cut(text, pieces)) deltas.push({ content: piece });
  const left = calls.map((call) => cut(call.arguments, pieces));
  for (const fragments of left) fragments.unshift('');
  for (let turn = 0; left.some((fragments) => fragments.length > 0); turn++) {
    const waiting = [...left.keys()].filter((index) => left[index]?.length);
    // Calls begin in the order of their index, and from then on mix.
    const begun = waiting.filter((index) => left[index]?.[0] !== '');
    const next = waiting.find((index) => left[index]?.[0] === '');
    const choice = [...begun, ...(next === undefined ? [] : [next])];
    const index = choice[(order[turn % order.length] ?? 0) % choice.length] ?? 0;
    const fragment = left[index]?.shift();
    const head = fragment === '' ? { id: `call_${index}`, type: 'function' } : {};
    const named = fragment === '' ? { name: calls[index]?.name } : {};
    deltas.push({ tool_calls: [{ index, ...head, function: { ...named, arguments: fragment } }] });
  }
  const frames: object[] = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }));
  frames.push({ choices: [{ index: 0, delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }] });
  frames.push({
    choices: [],
    usage: {
      prompt_tokens: usage.prompt,
      completion_tokens: usage.completion,
      prompt_tokens_details: { cached_tokens: usage.cached },
      completion_tokens_details: { reasoning_tokens: usage.reasoning },
    },
  });
  return [...frames.map((frame) => JSON.stringify(frame)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('');
}

function cut(text: string, lengths: number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1;
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

function cutBytes(bytes: Buffer, lengths: number[]): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1;
    parts.push(bytes.subarray(at, at + length));
    at += length;
  }
  return parts;
}
