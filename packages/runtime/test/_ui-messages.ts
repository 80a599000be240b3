import { AbstractChat, DefaultChatTransport } from 'ai';
import type { ChatInit, ChatState, ChatStatus, UIMessage } from 'ai';
import { KEY, createAgent } from './_agui.ts';
import type { Calls } from './_agui.ts';
import type { TestBox, TestBoxes, TestBoxOptions } from './_setup.ts';

/** What `useChat` keeps in React, kept in memory. */
class State implements ChatState<UIMessage> {
  status: ChatStatus = 'ready';
  error: Error | undefined;
  messages: UIMessage[];
  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }
  pushMessage = (message: UIMessage) => void (this.messages = [...this.messages, message]);
  popMessage = () => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index: number, message: UIMessage) =>
    void (this.messages = this.messages.map((one, at) => (at === index ? message : one)));
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

export class TestChat extends AbstractChat<UIMessage> {
  constructor({ messages = [], ...init }: ChatInit<UIMessage>) {
    super({ ...init, state: new State(messages) });
  }
}

export interface UiBox {
  box: TestBox;
  url: string;
  calls: Calls[];
  chat(id: string, init?: ChatInit<UIMessage>, headers?: Record<string, string>): TestChat;
}

export async function openUi(boxes: TestBoxes, options: TestBoxOptions = {}): Promise<UiBox> {
  const calls: Calls[] = [];
  const box = await boxes.open({ agents: { helper: createAgent(calls) }, ...options });
  const url = `${await box.listen()}/ui/v1/agents/helper`;
  return {
    box,
    url,
    calls,
    chat: (id, init = {}, headers = KEY) =>
      new TestChat({ id, transport: new DefaultChatTransport({ api: url, headers }), ...init }),
  };
}

/** The parts of the last message, without where they stand in the thread. */
export function partsOf({ messages }: { messages: UIMessage[] }) {
  return (messages.at(-1)?.parts ?? []).map((part) => {
    const {
      providerMetadata: _text,
      callProviderMetadata: _call,
      resultProviderMetadata: _result,
      ...rest
    } = part as typeof part & Record<string, unknown>;
    return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  });
}

/** What the agent has said last. */
export function textOf({ messages }: { messages: UIMessage[] }): string {
  const last = messages.at(-1);
  return last?.role === 'assistant' ? last.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') : '';
}
