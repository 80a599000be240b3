import Anthropic from '@anthropic-ai/sdk';
import { createAnthropic } from '@ai-sdk/anthropic';
import { ChatAnthropic } from '@langchain/anthropic';
import AnthropicBefore from 'anthropic-sdk-0';
import { defineDeepAgent } from '../src/definitions/definition.ts';
import { json, setupBoxes, startProvider, toModelStream, until } from './_setup.ts';
import type { TestBox, TestBoxes, TestBoxOptions } from './_setup.ts';
import { AGENT } from './_chat-completions.ts';

export { AGENT };

export interface WireB {
  box: TestBox;
  /** Ends in `/wire-b`. */
  url: string;
  anthropic: Anthropic;
  /** The line of the SDK before. */
  before: AnthropicBefore;
  ai: ReturnType<ReturnType<typeof createAnthropic>>;
  langchain: ChatAnthropic;
  /** What the model of this box was asked, in order. */
  asked(): Record<string, unknown>[];
}

export interface WiresB {
  /** A box with one agent behind a socket, and the clients at it. */
  open(options?: TestBoxOptions): Promise<WireB>;
  /** The same with a model that says exactly this first, and nothing once it has tool results. */
  scripted(deltas: object[]): Promise<WireB & { seen: Record<string, unknown>[] }>;
}

export function setupWiresB(): WiresB {
  const boxes = setupBoxes();
  return {
    open: (options = {}) => openWire(boxes, options),
    scripted: (deltas) => openScripted(boxes, deltas),
  };
}

export const KEY = { 'x-api-key': 'any' };
export const user = (content: string) => [{ role: 'user' as const, content }];
/** The least a request must say. */
export const toRequest = (content: string, extra: object = {}) => ({
  model: 'helper',
  max_tokens: 1_000,
  messages: user(content),
  ...extra,
});
export const CLIENT_TOOL = {
  name: 'client_tool',
  description: 'Of the client.',
  input_schema: { type: 'object' as const, properties: {} },
};

export const ask = ({ anthropic }: WireB, content: string, extra: object = {}): Promise<Anthropic.Message> =>
  anthropic.messages.create(toRequest(content, extra));

/** The message as the SDK collects it from the stream. */
export const stream = ({ anthropic }: WireB, content: string, extra: object = {}): Promise<Anthropic.Message> =>
  anthropic.messages.stream(toRequest(content, extra)).finalMessage();

/** A request without a client. */
export const post = ({ url }: Pick<WireB, 'url'>, body: unknown, headers: Record<string, string> = KEY) =>
  fetch(`${url}/v1/messages`, json(body, { headers }));

/** The events of a stream, each with the name of its `event:` line. */
export async function readEvents(answer: Response): Promise<{ event: string; data: Record<string, unknown> }[]> {
  const frames = (await answer.text()).split('\n\n').filter((frame) => frame !== '');
  return frames.map((frame) => {
    const [, event = '', data = ''] = /^event: (.+)\ndata: (.+)$/.exec(frame) ?? [];
    return { event, data: JSON.parse(data) as Record<string, unknown> };
  });
}

export const runsOf = ({ box }: WireB) => box.journal.listRuns({ kind: 'agent' }, { limit: 50 });
/** The answer is sent before its end is recorded. */
export const whenRunsAre = (wire: WireB, ...statuses: string[]) =>
  until(async () => (await runsOf(wire)).map(({ status }) => status).join() === statuses.join());
/** The messages the model was shown last, without the instructions. */
export const shownTo = (wire: WireB) =>
  (wire.asked().at(-1)?.messages ?? []) as { role: string; content: unknown; tool_call_id?: string }[];

// --- internal ---

async function openWire(boxes: TestBoxes, options: TestBoxOptions): Promise<WireB> {
  const box = await boxes.open({ agents: { helper: defineDeepAgent({ name: 'helper', ...AGENT }) }, ...options });
  const url = `${await box.listen()}/wire-b`;
  const from = box.model.requests.length;
  return {
    box,
    url,
    anthropic: new Anthropic({ baseURL: url, apiKey: 'any' }),
    before: new AnthropicBefore({ baseURL: url, apiKey: 'any' }),
    ai: createAnthropic({ baseURL: `${url}/v1`, apiKey: 'any' })('helper'),
    langchain: new ChatAnthropic({ model: 'helper', apiKey: 'any', anthropicApiUrl: url, maxRetries: 0 }),
    asked: () => box.model.requests.slice(from) as unknown as Record<string, unknown>[],
  };
}

async function openScripted(boxes: TestBoxes, deltas: object[]) {
  const seen: Record<string, unknown>[] = [];
  const provider = await startProvider((response, request) => {
    seen.push(request);
    const last = (request.messages as { role: string }[]).at(-1);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(toModelStream(last?.role === 'tool' ? [] : deltas));
  });
  return { ...(await openWire(boxes, { provider: { baseUrl: provider.url } })), seen };
}
