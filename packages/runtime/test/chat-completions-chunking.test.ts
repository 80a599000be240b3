import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { allCalls, anyTurn, startRounds } from './_rounds.ts';
import type { Call, Round } from './_rounds.ts';
import { json, setupBoxes } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

test('a streamed answer and a whole one say the same, however the provider cuts it up', async () => {
  const provider = await startRounds();
  const box = await boxes.open({
    provider: { baseUrl: provider.url },
    agents: { helper: defineDeepAgent({ name: 'helper' }) },
  });
  await fc.assert(
    fc.asyncProperty(anyTurn, async (rounds) => {
      provider.play(rounds);
      const whole = await readWhole(box);
      expect(await readStream(box)).toEqual(whole);
      // Blanks behind the arguments of one call may come when the next has begun; they are left out.
      const calls = whole.calls.map((call, n) => ({
        ...call,
        arguments: padLike(call.arguments, allCalls(rounds)[n]),
      }));
      expect({ ...whole, calls }).toEqual(toExpected(rounds));
    }),
    { numRuns: 60 },
  );
});

interface Answer {
  content: string | null;
  reasoning: string;
  calls: Call[];
  finish: string;
  usage: unknown;
}

function toExpected(rounds: Round[]): Answer {
  const text = (of: (round: Round) => string) => rounds.map(of).join('');
  const sum = (of: (round: Round) => number) => rounds.reduce((total, round) => total + of(round), 0);
  const content = text((round) => round.text);
  const calls = allCalls(rounds);
  const prompt = sum(({ usage }) => usage.prompt);
  const completion = sum(({ usage }) => usage.completion);
  return {
    content: content === '' && calls.length > 0 ? null : content,
    reasoning: text((round) => round.reasoning),
    calls,
    finish: 'stop',
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: sum(({ usage }) => usage.cached) },
      completion_tokens_details: { reasoning_tokens: sum(({ usage }) => usage.reasoning) },
    },
  };
}

function padLike(text: string, call: Call | undefined): string {
  return text === call?.arguments.trimEnd() ? call.arguments : text;
}

function ask(box: TestBox, stream: boolean): Promise<Response> {
  const body = {
    model: 'helper',
    messages: [{ role: 'user', content: 'go' }],
    stream,
    stream_options: { include_usage: true },
  };
  return box.request('/wire-a/v1/chat/completions', json(body, { headers: { 'x-api-key': 'any' } }));
}

interface WireMessage {
  content?: string | null;
  reasoning_content?: string;
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[];
}

async function readWhole(box: TestBox): Promise<Answer> {
  const { choices, usage } = (await (await ask(box, false)).json()) as {
    choices: [{ message: WireMessage; finish_reason: string }];
    usage: unknown;
  };
  const [{ message, finish_reason: finish }] = choices;
  return {
    content: message.content ?? null,
    reasoning: message.reasoning_content ?? '',
    calls: (message.tool_calls ?? []).map(({ function: call }) => ({ name: '', ...call })),
    finish,
    usage,
  };
}

async function readStream(box: TestBox): Promise<Answer> {
  const frames = (await (await ask(box, true)).text()).split('\n\n');
  expect(frames.splice(-2)).toEqual(['data: [DONE]', '']);
  const answer: Answer = { content: '', reasoning: '', calls: [], finish: '', usage: undefined };
  for (const frame of frames) {
    const { choices, usage } = JSON.parse(frame.replace(/^data: /, '')) as {
      choices: { delta: WireMessage; finish_reason: string | null }[];
      usage?: unknown;
    };
    answer.usage ??= usage;
    const { delta = {}, finish_reason: finish = null } = choices[0] ?? {};
    if (finish !== null) answer.finish += finish;
    answer.content += delta.content ?? '';
    answer.reasoning += delta.reasoning_content ?? '';
    for (const { index, id, function: call } of delta.tool_calls ?? []) {
      if (id) answer.calls.push({ name: call.name ?? '', arguments: '' });
      const known = answer.calls[index];
      if (known) known.arguments += call.arguments;
    }
  }
  if (answer.content === '' && answer.calls.length > 0) answer.content = null;
  return answer;
}
