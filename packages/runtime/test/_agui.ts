import { HttpAgent } from '@ag-ui/client';
import type { AgentSubscriber, RunAgentParameters } from '@ag-ui/client';
import type { BaseEvent, Interrupt, Message, RunFinishedEvent } from '@ag-ui/core';
import { z } from 'zod';
import { defineDeepAgent, defineTool } from '../src/definitions/definition.ts';
import { json, setupBoxes } from './_setup.ts';
import type { TestBox, TestBoxes, TestBoxOptions } from './_setup.ts';

export type AguiEvents = (BaseEvent & Record<string, unknown>)[];

export interface Received {
  events: AguiEvents;
  /** The last event. */
  end: BaseEvent & Partial<RunFinishedEvent> & { message?: string; code?: string };
  /** Messages the client did not have before. */
  added: Message[];
  interrupts: Interrupt[];
}

/** What the tools of the test agent were called with, by the idempotency key of the call. */
export interface Calls {
  tool: string;
  input: unknown;
  key: string;
}

/** An agent with tools that run, that fail, and that wait for a person. */
export function createAgent(calls: Calls[] = []) {
  const paying = (tool: string) =>
    defineTool({
      description: `Pays by ${tool}.`,
      inputSchema: z.object({ order: z.string(), amount: z.number().max(100) }),
      execute(input, { idempotencyKey: key }) {
        calls.push({ tool, input, key });
        return { paid: input.amount };
      },
    });
  const add = defineTool({
    description: 'Add two numbers.',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => a + b,
  });
  return defineDeepAgent({
    name: 'helper',
    instructions: 'Help.',
    tools: { add, refund: paying('refund'), charge: paying('charge'), gift: paying('gift'), hurry: paying('hurry') },
    interruptOn: {
      refund: true,
      charge: { allow: ['approve', 'reject'] },
      gift: { allow: ['approve', 'edit'] },
      hurry: { timeout: 200, fallback: 'approve' },
    },
  });
}

export const KEY = { authorization: 'Bearer dev' };

export interface AguiBox {
  box: TestBox;
  url: string;
  calls: Calls[];
  client(threadId: string, options?: { messages?: Message[]; state?: unknown }): HttpAgent;
}

export interface AguiBoxes extends TestBoxes {
  openAgui(options?: TestBoxOptions): Promise<AguiBox>;
}

export function setupAgui(): AguiBoxes {
  const boxes = setupBoxes();
  return {
    get model() {
      return boxes.model;
    },
    db: boxes.db,
    open: boxes.open,
    share: boxes.share,
    async openAgui(options = {}) {
      const calls: Calls[] = [];
      return serveAgui(await boxes.open({ agents: { helper: createAgent(calls) }, ...options }), calls);
    },
  };
}

export async function serveAgui(box: TestBox, calls: Calls[] = []): Promise<AguiBox> {
  const url = `${await box.listen()}/agui/v1/agents/helper`;
  return {
    box,
    url,
    calls,
    client: (threadId, { messages = [], state } = {}) =>
      new HttpAgent({
        url,
        threadId,
        headers: KEY,
        initialMessages: messages,
        ...(state === undefined ? {} : { initialState: state as object }),
      }),
  };
}

let ids = 0;

/** One run of the client, with a message of the person first when there is one. */
export async function say(client: HttpAgent, text?: string, parameters: RunAgentParameters = {}): Promise<Received> {
  if (text !== undefined) client.addMessage({ id: `user-${++ids}`, role: 'user', content: text });
  const events: AguiEvents = [];
  const subscriber: AgentSubscriber = { onEvent: ({ event }) => void events.push(event as AguiEvents[number]) };
  const { newMessages } = await client.runAgent(parameters, subscriber);
  const end = events.at(-1) as Received['end'];
  const outcome = end.outcome;
  return { events, end, added: newMessages, interrupts: outcome?.type === 'interrupt' ? outcome.interrupts : [] };
}

/** What a run tells in which a decided call is answered, and a text follows. */
export const RESUMED = [
  'RUN_STARTED',
  'TOOL_CALL_RESULT',
  'STEP_STARTED',
  'TEXT_MESSAGE_START',
  'TEXT_MESSAGE_CONTENT',
  'TEXT_MESSAGE_END',
  'STEP_FINISHED',
  'RUN_FINISHED',
];

export const typesOf = ({ events }: Received) => events.map(({ type }) => type as string);
export const textOf = ({ events }: Received) =>
  events.map(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? String(delta) : '')).join('');
export const idsOf = (messages: readonly { id: string }[]) => messages.map(({ id }) => id);

/** The answer to a request that is sent as it is. */
export async function post(box: TestBox, body: unknown, headers: Record<string, string> = KEY) {
  const answer = await box.request('/agui/v1/agents/helper', json(body, { headers }));
  const text = await answer.text();
  return { status: answer.status, type: answer.headers.get('content-type') ?? '', headers: answer.headers, text };
}

/** What the model was asked with last. */
export const toldModel = (box: TestBox) =>
  (box.model.requests.at(-1)?.messages ?? []) as { role: string; content: unknown; tool_call_id?: string }[];
