import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { resultsOf, setupWires } from './_chat-completions.ts';
import type { Wire } from './_chat-completions.ts';

const { open } = setupWires();

const chatOf = ({ url }: Wire, headers: Record<string, string> = {}) =>
  new ChatOpenAI({
    model: 'helper',
    apiKey: 'dev',
    maxRetries: 0,
    streamUsage: true,
    configuration: { baseURL: url, defaultHeaders: headers },
  });

const clientTool = tool(() => 'from the client', {
  name: 'client_tool',
  description: 'Of the client.',
  schema: z.object({}),
});

describe('LangChain on chat completions', () => {
  test('gets the text and the usage, streamed and not', async () => {
    const wire = await open();
    const whole = await chatOf(wire).invoke('say:one two');
    let streamed: AIMessage | undefined;
    for await (const chunk of await chatOf(wire).stream('say:one two'))
      streamed = streamed ? (streamed as never as { concat(next: unknown): AIMessage }).concat(chunk) : chunk;
    expect([whole.text, streamed?.text]).toEqual(['one two', 'one two']);
    expect(whole.usage_metadata?.total_tokens).toBeGreaterThan(0);
    expect(streamed?.usage_metadata).toMatchObject({ total_tokens: whole.usage_metadata?.total_tokens });
  });

  test('is not asked to run what the box runs', async () => {
    const wire = await open();
    const answer = await chatOf(wire).bindTools([clientTool]).invoke('tool:add {"a":1,"b":2}\nsay:Three.');
    expect([answer.text, answer.tool_calls]).toEqual(['Three.', []]);
    expect(resultsOf(wire)).toEqual(['{"sum":3}']);
  });

  test('runs its own tool, and the answer goes on from its result', async () => {
    const wire = await open();
    const chat = chatOf(wire).bindTools([clientTool]);
    const question = new HumanMessage('tool:client_tool {}\nsay:Thanks.');
    const asked = await chat.invoke([question]);
    expect(asked.tool_calls?.map(({ name }) => name)).toEqual(['client_tool']);
    const id = asked.tool_calls?.[0]?.id ?? '';
    const answer = await chat.invoke([
      question,
      asked,
      new ToolMessage({ content: 'from the client', tool_call_id: id }),
    ]);
    expect(answer.text).toBe('Thanks.');
    expect(resultsOf(wire)).toEqual(['from the client']);
  });

  test('keeps a conversation in a session, whatever it repeats', async () => {
    const wire = await open();
    const chat = chatOf(wire, { 'x-svc-session': 'langchain' });
    await chat.invoke('say:one');
    await chat.invoke([new HumanMessage('say:one'), new AIMessage('one'), new HumanMessage('say:two')]);
    const received = wire.asked().at(-1)?.messages as { role: string; content: unknown }[];
    expect(received.map(({ content }) => content)).toEqual(['say:one', 'one', 'say:two']);
  });

  test('gets an error by its status, once', async () => {
    const wire = await open();
    await expect(chatOf(wire).invoke('error:500')).rejects.toMatchObject({ status: 500 });
    expect(wire.asked().length).toBeLessThanOrEqual(3);
  });
});
