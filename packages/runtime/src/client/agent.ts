import type { AgentRegister } from '../register.ts';
import type { InputOf } from '../schema/schema.ts';
import type { AguiEvent, AguiInterrupt, AguiUsage } from '../wires/agui/event.ts';
import { ClientRunError } from './errors.ts';
import { readEvents } from './read-events.ts';
import type { CallOptions, Sender } from './send.ts';

/** An event of a turn, of AG-UI 1.0: text, thoughts and tool calls as they come, and one that ends it. */
export type AgentEvent = AguiEvent;

/** A tool call that waits for a decision. */
export type AgentInterrupt = AguiInterrupt;

/** What becomes of such a call. `input`: other arguments, for `edit`. */
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
  /** The same as it comes, event by event; the last one is `RUN_FINISHED` or `RUN_ERROR`. */
  stream(message: string, options?: SendOptions): AsyncIterable<AgentEvent>;
  /** Decides calls that wait, and answers what the agent said then. */
  decide(decisions: readonly AgentDecision[], options?: SendOptions): Promise<AgentTurn<O>>;
}

export interface ClientAgent<O> {
  /** @param id names the conversation; the same name goes on with it. Default: a new one */
  session(id?: string): AgentSession<O>;
}

/** The JSON an agent writes, by its own declaration. */
export type JsonOf<N extends string> = N extends keyof AgentRegister
  ? AgentRegister[N] extends { output?: infer S }
    ? InputOf<NonNullable<S>>
    : unknown
  : unknown;

export function createAgent<N extends string>(send: Sender, name: N): ClientAgent<JsonOf<N>> {
  return { session: (id = crypto.randomUUID()) => openSession(send, name, id) as AgentSession<JsonOf<N>> };
}

// --- internal ---

const MOST_ATTEMPTS = 4;

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
  const read = async (asked: Asked, options: SendOptions = {}): Promise<AgentTurn<unknown>> => {
    const key = crypto.randomUUID();
    for (let attempt = 1; ; attempt++) {
      try {
        return await toTurn(readTurn(await open(asked, key, options)));
      } catch (error) {
        // Under its key it is the same turn: nothing is asked twice.
        const isCut = error instanceof TypeError && !options.signal?.aborted;
        if (!isCut || attempt === MOST_ATTEMPTS) throw error;
        await new Promise((resolve) => setTimeout(resolve, attempt * 500));
      }
    }
  };
  return {
    id: threadId,
    send: (message, options) => read(toAsked(message), options),
    async *stream(message, options = {}) {
      yield* readTurn(await open(toAsked(message), crypto.randomUUID(), options));
    },
    decide(decisions, options) {
      const resume = decisions.map(({ id, ...payload }) => ({ interruptId: id, status: 'resolved', payload }));
      return read({ messages: [], resume }, options);
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
  if (!isOver) throw new TypeError('The answer broke off before its end.');
}

async function toTurn(events: AsyncIterable<AgentEvent>): Promise<AgentTurn<unknown>> {
  let said = { id: '', text: '' };
  let reasoning = '';
  for await (const event of events) {
    if (event.type === 'TEXT_MESSAGE_START') said = { id: event.messageId, text: '' };
    else if (event.type === 'TEXT_MESSAGE_CONTENT') said.text += event.delta;
    else if (event.type === 'REASONING_MESSAGE_CONTENT') reasoning += event.delta;
    else if (event.type === 'RUN_ERROR') throw new ClientRunError(event.code, event.message, idOf(event));
    else if (event.type === 'RUN_FINISHED') {
      const { text } = said;
      const { outcome, usage = [], metadata } = event;
      return {
        text,
        reasoning,
        finishReason: String(metadata?.svc.finishReason ?? outcome.type),
        interrupts: outcome.type === 'interrupt' ? outcome.interrupts : [],
        usage,
        runId: idOf(event) ?? '',
        json: () => JSON.parse(text) as unknown,
      };
    }
  }
  throw new TypeError('The answer broke off before its end.');
}

function idOf({ metadata }: Extract<AgentEvent, { type: 'RUN_FINISHED' | 'RUN_ERROR' }>): string | undefined {
  const id = metadata?.svc.runId;
  return typeof id === 'string' ? id : undefined;
}
