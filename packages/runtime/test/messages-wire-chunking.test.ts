import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { allCalls, anyTurn, startRounds } from './_rounds.ts';
import type { Round } from './_rounds.ts';
import { ask, setupWiresB, stream, toRequest } from './_messages-wire.ts';

const { open } = setupWiresB();

interface WireBlock {
  type: string;
  text?: string;
  thinking?: string;
  name?: string;
  input?: unknown;
}

test('a streamed message and a whole one say the same, however the provider cuts it up', async () => {
  const provider = await startRounds();
  const agents = { helper: defineDeepAgent({ name: 'helper' }) };
  const wire = await open({ provider: { baseUrl: provider.url }, agents });
  await fc.assert(
    fc.asyncProperty(anyTurn, async (rounds) => {
      provider.play(rounds);
      const whole = await ask(wire, 'go');
      const streamed = await stream(wire, 'go');
      const before = await wire.before.messages.stream(toRequest('go')).finalMessage();
      for (const message of [streamed, before]) expect(comparable(message)).toEqual(comparable(whole));
      expect({ content: whole.content.map(toPart), usage: whole.usage, end: whole.stop_reason }).toEqual(
        toExpected(rounds),
      );
    }),
    { numRuns: 60 },
  );
});

/** Without what differs between two turns that say the same. */
function comparable({ content, stop_reason, usage }: { content: unknown[]; stop_reason: unknown; usage: unknown }) {
  return { content: JSON.parse(JSON.stringify(content)) as unknown, stop_reason, usage };
}

function toPart(block: WireBlock): unknown {
  if (block.type === 'text') return block.text;
  return block.type === 'thinking' ? { thinking: block.thinking } : { [block.name ?? '']: block.input };
}

function toExpected(rounds: Round[]) {
  const sum = (of: (usage: Round['usage']) => number) => rounds.reduce((total, { usage }) => total + of(usage), 0);
  const cached = sum((usage) => usage.cached);
  return {
    content: rounds.flatMap((round) => [
      ...(round.reasoning === '' ? [] : [{ thinking: round.reasoning }]),
      ...(round.text === '' ? [] : [round.text]),
      ...allCalls([round]).map((call) => ({ [call.name]: toInput(call.arguments) })),
    ]),
    usage: {
      input_tokens: Math.max(0, sum((usage) => usage.prompt) - cached),
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cached,
      output_tokens: sum((usage) => usage.completion),
    },
    end: 'end_turn',
  };
}

/** What is no object is none on the wire either. */
function toInput(text: string): unknown {
  try {
    const value = JSON.parse(text) as unknown;
    return Array.isArray(value) ? {} : value;
  } catch {
    return {};
  }
}
