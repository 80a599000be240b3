import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from './_setup.ts';
import type { TestBox } from './_setup.ts';

type Json = Record<string, unknown>;

interface AskedMessage {
  role: string;
  content?: string | null;
  tool_calls?: { id: string }[];
}

export interface Asked {
  model: string;
  messages: AskedMessage[];
  tools?: { function: { name: string } }[];
}

export interface ToolUse {
  tool: string;
  args: Json;
}

/** What a model does next: says something, or calls tools. `results`: what the calls of this turn have answered, in order. */
export type Play = (asked: Asked, results: Json[]) => Played | Promise<Played>;
type Played = string | ToolUse[];

export interface PlayedModel {
  url: string;
  asked: Asked[];
  /** What it does from now on. */
  play: Play;
  close(): Promise<void>;
}

export const use = (tool: string, args: Json): ToolUse[] => [{ tool, args }];
export const write = (operation: string, input: Json) => use('call_write_operation', { operation, input });
export const read = (operation: string, input: Json) => use('call_read_operation', { operation, input });

/** A call as the answer that asked for a confirmation has it, with its state. */
export function confirm({ details, requestState }: Json): ToolUse[] {
  const { call } = details as { call: Json };
  return use('confirm_operation', { ...call, requestState });
}

/** Plays one after the other, each given the newest result; what comes after is text. */
export function inTurn(...plays: (ToolUse[] | ((last: Json) => ToolUse[] | string))[]): Play {
  return (_asked, results) => {
    const next = plays[results.length];
    if (next === undefined) return `Done: ${JSON.stringify(results.at(-1))}`;
    return typeof next === 'function' ? next(results.at(-1) ?? {}) : next;
  };
}

/** A model that sees what tools have answered, as a capable one does. */
export async function startPlayedModel(): Promise<PlayedModel> {
  let calls = 0;
  const model: PlayedModel = { url: '', asked: [], play: () => 'Hello.', close: async () => {} };
  const server = createServer((req, res) => {
    // Its list of models.
    if (req.method === 'GET') return void res.end(JSON.stringify({ object: 'list', data: [{ id: 'v/m' }] }));
    // Who is notified of runs that stop.
    if (req.url === '/notices') return void res.writeHead(204).end();
    let text = '';
    req.on('data', (chunk: Buffer) => (text += chunk.toString()));
    req.on('end', async () => {
      const asked = JSON.parse(text) as Asked;
      model.asked.push(asked);
      const played = await model.play(asked, resultsOf(asked.messages));
      const delta =
        typeof played === 'string'
          ? { role: 'assistant', content: played }
          : {
              role: 'assistant',
              tool_calls: played.map(({ tool, args }, index) => ({
                index,
                id: `call_${++calls}`,
                type: 'function',
                function: { name: tool, arguments: JSON.stringify(args) },
              })),
            };
      // Whoever asked has stopped the turn meanwhile.
      if (res.destroyed) return;
      const head = { id: 'c', object: 'chat.completion.chunk', created: 0, model: asked.model };
      const finish = typeof played === 'string' ? 'stop' : 'tool_calls';
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(`data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`);
      res.write(
        `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta: {}, finish_reason: finish }], usage: USAGE })}\n\n`,
      );
      res.end('data: [DONE]\n\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  model.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  model.close = () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return model;
}

export interface Told {
  status: number;
  events: Json[];
  text: string;
  /** What tools have answered, in the order of the answers. */
  results: Json[];
  interrupts: { id: string; message: string; metadata: { svc: { arguments: Json } } }[];
  error: string | undefined;
}

export interface TalkOptions {
  headers?: Record<string, string>;
  text?: string;
  resume?: Json[];
  context?: { description: string; value: string }[];
  tools?: Json[];
  messages?: Json[];
}

let ids = 0;

/** A box, or what stands for one in another process. */
export interface TalkedTo {
  request: TestBox['request'];
}

/** One run of the copilot over AG-UI. */
export async function talk(box: TalkedTo, threadId: string, options: TalkOptions): Promise<Told> {
  const { headers = { authorization: 'Bearer dev' }, text, resume = [], context = [], tools = [] } = options;
  const messages = options.messages ?? (text === undefined ? [] : [{ id: `m${++ids}`, role: 'user', content: text }]);
  const body = { threadId, runId: `r${++ids}`, state: {}, messages, tools, context, forwardedProps: {}, resume };
  const answer = await box.request('/agui/v1/agents/studio-copilot', json(body, { headers }));
  const raw = await answer.text();
  if (answer.status !== 200) return { ...NOTHING, status: answer.status, error: String(JSON.parse(raw).code) };
  const events = raw
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => JSON.parse(frame.slice('data: '.length)) as Json);
  const of = (type: string) => events.filter((event) => event.type === type);
  const outcome = of('RUN_FINISHED').at(-1)?.outcome as { interrupts?: Told['interrupts'] } | undefined;
  return {
    status: answer.status,
    events,
    text: of('TEXT_MESSAGE_CONTENT')
      .map(({ delta }) => delta)
      .join(''),
    results: of('TOOL_CALL_RESULT').map(({ content }) => toJson(String(content))),
    interrupts: outcome?.interrupts ?? [],
    error: of('RUN_ERROR')[0]?.code as string | undefined,
  };
}

/** Answers what it waits for. */
export function decide(
  box: TalkedTo,
  threadId: string,
  { interrupts }: Told,
  payload: Json,
  headers?: Record<string, string>,
): Promise<Told> {
  const resume = interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload }));
  return talk(box, threadId, { resume, ...(headers ? { headers } : {}) });
}

export const codeOf = (result: Json | undefined): unknown => result?.code;
export const reasonOf = (result: Json | undefined): unknown => (result?.details as Json | undefined)?.reason;

/** What each operation answered that a run has called. */
export function answersOf({ events }: Told): Map<string, Json> {
  const args = new Map<unknown, string>();
  for (const { type, toolCallId, delta } of events)
    if (type === 'TOOL_CALL_ARGS') args.set(toolCallId, (args.get(toolCallId) ?? '') + String(delta));
  return new Map(
    events
      .filter(({ type }) => type === 'TOOL_CALL_RESULT')
      .map(({ toolCallId, content }) => [
        String(toJson(args.get(toolCallId) ?? '{}').operation),
        toJson(String(content)),
      ]),
  );
}

// --- internal ---

/** Of each call of the model. */
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const NOTHING = { events: [], text: '', results: [], interrupts: [] };

function resultsOf(messages: AskedMessage[]): Json[] {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  return messages
    .slice(asked + 1)
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => toJson(String(content)));
}

function toJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return { text };
  }
}
