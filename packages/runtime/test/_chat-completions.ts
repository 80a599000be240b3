import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import OpenAI from 'openai';
import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { setupBoxes, startProvider, toModelStream, until } from './_setup.ts';
import type { TestBox, TestBoxes, TestBoxOptions } from './_setup.ts';

export const CLIENT_TOOL = {
  type: 'function' as const,
  function: { name: 'client_tool', description: 'Of the client.', parameters: { type: 'object', properties: {} } },
};

const add = defineTool({
  description: 'Add two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => ({ sum: a + b }),
});
const nothing = z.object({});
const failing = defineTool({
  description: 'Fails.',
  inputSchema: nothing,
  execute() {
    throw new Error('The disk is full.');
  },
});
const strict = defineTool({
  description: 'Has a schema that throws.',
  inputSchema: z.object({ x: z.number() }).refine(() => {
    throw new Error('The check broke.');
  }),
  execute: () => 'never',
});
const odd = defineTool({ description: 'Answers what JSON cannot say.', inputSchema: nothing, execute: () => () => 1 });
const big = defineTool({ description: 'Answers a bigint.', inputSchema: nothing, execute: () => ({ n: 10n ** 20n }) });
const refund = defineTool({ description: 'Pays back.', inputSchema: nothing, execute: () => 'paid' });

export const AGENT = { tools: { add, failing, strict, odd, big, refund }, interruptOn: { refund: true } };

export interface Wire {
  box: TestBox;
  url: string;
  openai: OpenAI;
  ai: ReturnType<ReturnType<typeof createOpenAICompatible>>;
  /** What the model of this box was asked, in order. */
  asked(): Record<string, unknown>[];
}

export interface ScriptedWire extends Wire {
  /** What the model of this box was asked, in order. */
  seen: Record<string, unknown>[];
}

export interface Wires {
  /** A box with one agent behind a socket, and both clients at it. */
  open(options?: TestBoxOptions): Promise<Wire>;
  /** The same with a model that says exactly this first, and nothing once it has tool results. */
  scripted(deltas: object[]): Promise<ScriptedWire>;
}

export function setupWires(): Wires {
  const boxes = setupBoxes();
  return {
    open: (options = {}) => openWire(boxes, options),
    scripted: (deltas) => openScripted(boxes, deltas),
  };
}

/** The first delta of a call; its id is its name. */
export const toCall = (name: string, args = '{}') => ({
  index: 0,
  id: name,
  type: 'function',
  function: { name, arguments: args },
});

export const KEY = { 'x-api-key': 'any' };

export const user = (content: string) => [{ role: 'user' as const, content }];
export const ask = ({ openai }: Wire, content: string, extra: object = {}): Promise<ChatCompletion> =>
  openai.chat.completions.create({ model: 'helper', messages: user(content), ...extra });
export const runsOf = ({ box }: Wire) => box.journal.listRuns({ kind: 'agent' }, { limit: 50 });
/** The answer is sent before its end is recorded. */
export const whenRunsAre = (wire: Wire, ...statuses: string[]) =>
  until(async () => (await runsOf(wire)).map(({ status }) => status).join() === statuses.join());
/** The results the model was given for its calls. */
export const resultsOf = (wire: Wire) =>
  ((wire.asked().at(-1)?.messages ?? []) as { role: string; content: string }[])
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content);

/** The chunks of a streamed answer. */
export async function streamed(wire: Wire, content: string, extra: object = {}): Promise<ChatCompletionChunk[]> {
  const stream = await wire.openai.chat.completions.create({
    model: 'helper',
    messages: user(content),
    stream: true,
    ...extra,
  });
  const chunks: ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

// --- internal ---

async function openWire(boxes: TestBoxes, options: TestBoxOptions): Promise<Wire> {
  const box = await boxes.open({ agents: { helper: defineDeepAgent({ name: 'helper', ...AGENT }) }, ...options });
  const url = `${await box.listen()}/wire-a/v1`;
  const before = box.model.requests.length;
  return {
    box,
    url,
    openai: new OpenAI({ baseURL: url, apiKey: 'any' }),
    ai: createOpenAICompatible({ name: 'box', baseURL: url, apiKey: 'any', includeUsage: true })('helper'),
    asked: () => box.model.requests.slice(before) as unknown as Record<string, unknown>[],
  };
}

async function openScripted(boxes: TestBoxes, deltas: object[]): Promise<ScriptedWire> {
  const seen: Record<string, unknown>[] = [];
  const provider = await startProvider((response, request) => {
    seen.push(request);
    const last = (request.messages as { role: string }[]).at(-1);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(toModelStream(last?.role === 'tool' ? [] : deltas));
  });
  return { ...(await openWire(boxes, { provider: { baseUrl: provider.url } })), seen };
}
