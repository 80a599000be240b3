import { isPassing, pause } from './again.ts';
import { ClientError, ClientRunError } from './errors.ts';
import type { AguiEvent, AguiInterrupt, AguiUsage } from './operations.ts';
import { readEvents } from './read-events.ts';
import type { AgentJson } from './register.ts';
import { createRejoined } from './rejoined.ts';
import type { CallOptions, Sender } from './send.ts';

/** An event of a turn, of AG-UI 1.0: text, thoughts and tool calls as they come, and one that ends it. */
export type AgentEvent = AguiEvent;

/** A tool call that waits for a decision. */
export type AgentInterrupt = AguiInterrupt;

/** What happens to such a call. `input`: other arguments, for `edit`. */
export interface AgentDecision {
  /** The id of the interrupt. */
  id: string;
  decision: 'approve' | 'edit' | 'reject';
  note?: string;
  input?: unknown;
}

export interface SendOptions extends CallOptions {
  /** Of the model: `{ temperature: 0 }`. */
  parameters?: Record<string, unknown> | undefined;
}

/** A turn that has ended, or waits for a decision. */
export interface AgentTurn<O> {
  /** What the agent said last. */
  text: string;
  reasoning: string;
  finishReason: string;
  /** The calls that wait; `decide` goes on with them. */
  interrupts: AgentInterrupt[];
  usage: AguiUsage[];
  /** The run of the turn. */
  runId: string;
  /** `text` as JSON, of an agent with an `output` schema. Throws a SyntaxError where it is none. */
  json(): O;
}

/** A conversation with an agent, which the box keeps. */
export interface AgentSession<O> {
  readonly id: string;
  /**
   * Says something and answers what the agent said. A connection that breaks off is made again: the same turn goes on.
   * Throws `ClientError` for what the box refuses, and `ClientRunError` for a turn that fails.
   */
  send(message: string, options?: SendOptions): Promise<AgentTurn<O>>;
  /**
   * The same as it comes, event by event; the last one is `RUN_FINISHED` or `RUN_ERROR`. After a connection that broke off,
   * what is new of the turn comes; a text whose start comes again starts over.
   */
  stream(message: string, options?: SendOptions): AsyncIterable<AgentEvent>;
  /** Decides calls that wait, and answers what the agent said then. */
  decide(decisions: readonly AgentDecision[], options?: SendOptions): Promise<AgentTurn<O>>;
}

export interface ClientAgent<O> {
  /** @param id names the conversation; the same name goes on with it. Default: a new one */
  session(id?: string): AgentSession<O>;
}

export function createAgent<N extends string>(send: Sender, name: N): ClientAgent<AgentJson<N>> {
  return { session: (id = crypto.randomUUID()) => openSession(send, name, id) as AgentSession<AgentJson<N>> };
}

// --- internal ---

/** How often in a row a connection may break off without anything new. */
const MOST_FAILURES = 4;
const PAUSE_MS = 500;

interface Asked {
  messages: object[];
  resume?: object[];
}

function openSession(send: Sender, agent: string, threadId: string): AgentSession<unknown> {
  const path = `/agui/v1/agents/${encodeURIComponent(agent)}`;
  const open = async (asked: Asked, key: string, { parameters, ...call }: SendOptions): Promise<Response> => {
    const body = { threadId, runId: key, forwardedProps: parameters, ...asked };
    return send.post(path, body, { ...call, headers: { ...call.headers, 'idempotency-key': key } });
  };
  /** Under its key a request that is sent again is the same turn: nothing is asked twice. */
  async function* follow(asked: Asked, options: SendOptions = {}): AsyncGenerator<AgentEvent> {
    const key = crypto.randomUUID();
    const rejoined = createRejoined({ keepsSnapshots: asked.resume !== undefined });
    let isBegun = false;
    for (let failures = 0; ;) {
      try {
        const response = await open(asked, key, options);
        isBegun = true;
        for await (const event of readTurn(response)) {
          if (isShutdown(event) && failures < MOST_FAILURES - 1) throw cut();
          const added = rejoined.take(event);
          if (added.length > 0) failures = 0;
          yield* added;
        }
        return;
      } catch (error) {
        // What is refused at first is refused.
        const isCut = isPassing(error, options.signal) && (isBegun || !(error instanceof ClientError));
        if (!isCut || ++failures === MOST_FAILURES) throw error;
        await pause(failures * PAUSE_MS, options.signal);
        rejoined.reconnect();
      }
    }
  }
  return {
    id: threadId,
    send: (message, options) => toTurn(follow(toAsked(message), options)),
    stream: (message, options) => follow(toAsked(message), options),
    decide(decisions, options) {
      const resume = decisions.map(({ id, ...payload }) => ({ interruptId: id, status: 'resolved', payload }));
      return toTurn(follow({ messages: [], resume }, options));
    },
  };
}

function toAsked(message: string): Asked {
  return { messages: [{ id: crypto.randomUUID(), role: 'user', content: message }] };
}

async function* readTurn({ body }: Response): AsyncGenerator<AgentEvent> {
  let isOver = false;
  if (body)
    for await (const { data } of readEvents(body)) {
      const event = JSON.parse(data) as AgentEvent;
      isOver = event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR';
      yield event;
    }
  // As a connection that breaks off in another place.
  if (!isOver) throw cut();
}

function cut(): TypeError {
  return new TypeError('The answer broke off before its end.');
}

/** The turn goes on in the next process of the box. */
function isShutdown(event: AgentEvent): boolean {
  return event.type === 'RUN_ERROR' && event.code === 'shutting_down';
}

async function toTurn(events: AsyncIterable<AgentEvent>): Promise<AgentTurn<unknown>> {
  let said = { id: '', text: '' };
  let runId: string | undefined;
  const thoughts = new Map<string, string>();
  for await (const event of events) {
    if (event.type === 'RUN_STARTED') runId = idOf(event);
    else if (event.type === 'MESSAGES_SNAPSHOT') said = findSaid(event, runId) ?? said;
    else if (event.type === 'TEXT_MESSAGE_START') said = { id: event.messageId, text: '' };
    else if (event.type === 'TEXT_MESSAGE_CONTENT') said.text += event.delta;
    else if (event.type === 'REASONING_MESSAGE_START') thoughts.set(event.messageId, '');
    else if (event.type === 'REASONING_MESSAGE_CONTENT')
      thoughts.set(event.messageId, (thoughts.get(event.messageId) ?? '') + event.delta);
    else if (event.type === 'RUN_ERROR') throw new ClientRunError(event.code, event.message, idOf(event));
    else if (event.type === 'RUN_FINISHED') {
      const { text } = said;
      const { outcome, usage = [], metadata } = event;
      return {
        text,
        reasoning: [...thoughts.values()].join(''),
        finishReason: String(metadata?.svc.finishReason ?? outcome.type),
        interrupts: outcome.type === 'interrupt' ? outcome.interrupts : [],
        usage,
        runId: idOf(event) ?? '',
        json: () => JSON.parse(text) as unknown,
      };
    }
  }
  throw cut();
}

/** What the turn has said last, where that was made while no connection was open. */
function findSaid(
  { messages }: Extract<AgentEvent, { type: 'MESSAGES_SNAPSHOT' }>,
  runId = '',
): { id: string; text: string } | undefined {
  const said = messages.findLast(({ role }) => role === 'assistant');
  if (said?.role !== 'assistant' || !said.id.startsWith(`msg_${runId.replaceAll('-', '')}_`)) return undefined;
  return { id: said.id, text: said.content ?? '' };
}

function idOf({
  metadata,
}: Extract<AgentEvent, { type: 'RUN_STARTED' | 'RUN_FINISHED' | 'RUN_ERROR' }>): string | undefined {
  const id = metadata?.svc.runId;
  return typeof id === 'string' ? id : undefined;
}
