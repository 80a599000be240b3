import type { RunningTurn } from '../agents/reading/running-turn.ts';
import type { Journal } from '../engine/journal.ts';
import { decode } from '../engine/serialize.ts';
import { toMessages } from '../agents/model/messages.ts';
import type { ChatMessage } from '../agents/model/messages.ts';
import type { ClientTool } from '../agents/turn/input.ts';
import type { Executor, FinishReason, Interrupt, TurnEvent, Usage } from '../agents/events/turn-events.ts';
import { NO_USAGE, readAll } from '../agents/events/turn-events.ts';
import type { Life } from './life.ts';
import type { ScriptedModel } from './model.ts';
import type { TestRun } from './runs.ts';

/** A call the model made, and what it was answered. */
export interface TestToolCall {
  id: string;
  name: string;
  /** Parsed; as text where it is no JSON. */
  args: unknown;
  executor: Executor;
  /** As the model reads it; undefined: not run, or not yet. */
  result?: string;
  isError?: boolean;
}

/** A turn, or the part of one up to an interrupt. */
export interface TestTurn {
  /** The text of the last model call. */
  text: string;
  reasoning: string;
  toolCalls: TestToolCall[];
  finishReason: FinishReason;
  /** What waits for a person, where `finishReason` is `interrupt`. */
  interrupts: Interrupt[];
  usage: Usage;
  run: TestRun;
  /** Everything it emitted. */
  events: TurnEvent[];
  /** What it does after the interrupt: up to its end, or until it is to be decided on again. */
  rest(): Promise<TestTurn>;
}

export interface SendOptions {
  /** The conversation the box keeps. Left out: a stateless turn. */
  session?: string;
  /** Tools that the client runs. */
  tools?: ClientTool[];
  /** Handed to the model: temperature and the like. */
  parameters?: Record<string, unknown>;
  /** Aborts when the client goes away. */
  signal?: AbortSignal;
}

export interface TestAgent {
  /** One turn: a text of the user, or messages. Throws what ended it with an error, `code` and `status` included. */
  send(message: string | ChatMessage[], options?: SendOptions): Promise<TestTurn>;
}

export interface TurnsOptions {
  life(): Life;
  journal: Journal;
  model: ScriptedModel;
  toRun(id: string): TestRun;
}

export interface TestTurns {
  agent(name: string): TestAgent;
  /** Hands the turns that wait for a person to a new process. */
  followAgain(): Promise<void>;
}

export function createTestTurns({ life, journal, model, toRun }: TurnsOptions): TestTurns {
  /** Read on from before they are decided, so that nothing is missed. */
  const waiting = new Map<string, { running: RunningTurn; known: string[] }>();

  /** `known`: the approvals it is known to wait for. */
  const follow = async (runId: string, known: string[]): Promise<void> => {
    const run = await journal.getRun(runId);
    if (run) waiting.set(runId, { running: await life().box.agents.follow(run, known), known });
  };

  /** What is kept from a client, a test may see: it is in the run. */
  const causeOf = async (runId: string, code: string): Promise<ErrorOptions> => {
    const run = code === 'internal' ? await journal.getRun(runId) : undefined;
    return run?.error == null ? {} : { cause: decode(run.error) };
  };

  const collect = async (running: RunningTurn, signal?: AbortSignal): Promise<TestTurn> => {
    const { runId } = running;
    const leave = (): void => running.leave();
    signal?.addEventListener('abort', leave, { once: true });
    const events = await life().alive(readAll(running.events));
    signal?.removeEventListener('abort', leave);
    await model.rethrow(runId, journal);
    const end = events.at(-1);
    if (end?.type === 'error')
      throw Object.assign(new Error(end.message, await causeOf(runId, end.code)), {
        code: end.code,
        status: end.status,
        events,
      });
    const read = readEvents(events);
    const asked = read.interrupts.map(({ id }) => id);
    if (read.finishReason === 'interrupt') await follow(runId, asked);
    const rest = async (): Promise<TestTurn> => {
      const next = waiting.get(runId);
      if (!next) throw new Error('The turn has ended: nothing is left of it.');
      waiting.delete(runId);
      return collect(next.running);
    };
    return { ...read, run: toRun(runId), events, rest };
  };

  return {
    agent: (name) => ({
      async send(message, { session, tools, parameters = {}, signal } = {}) {
        const given = typeof message === 'string' ? [{ role: 'user', content: message }] : message;
        const messages = toMessages(given, { keepsHistory: session !== undefined });
        const request = { agent: name, messages, parameters, ...(tools ? { tools } : {}) };
        const kept = session === undefined ? {} : { session: { name: session, kind: 'session' as const } };
        const { alive, box } = life();
        return collect(await alive(box.agents.startTurn({ ...request, ...kept })), signal);
      },
    }),
    followAgain: async () => void (await Promise.all([...waiting].map(([runId, { known }]) => follow(runId, known)))),
  };
}

// --- internal ---

type Read = Pick<TestTurn, 'text' | 'reasoning' | 'toolCalls' | 'finishReason' | 'interrupts' | 'usage'>;

function readEvents(events: readonly TurnEvent[]): Read {
  const read: Read = { text: '', reasoning: '', toolCalls: [], finishReason: 'stop', interrupts: [], usage: NO_USAGE };
  const callOf = (id: string) => read.toolCalls.find((call) => call.id === id);
  for (const event of events) {
    if (event.type === 'step.start') read.text = '';
    else if (event.type === 'text.delta') read.text += event.text;
    else if (event.type === 'reasoning.delta') read.reasoning += event.text;
    else if (event.type === 'tool.start') read.toolCalls.push(toCall(event));
    else if (event.type === 'tool.end') Object.assign(callOf(event.callId) ?? {}, { args: parse(event.args) });
    else if (event.type === 'tool.result') addResult(read.toolCalls, event);
    else if (event.type === 'interrupt') read.interrupts.push(event);
    else if (event.type === 'usage') read.usage = toUsage(event);
    else if (event.type === 'finish') read.finishReason = event.reason;
  }
  return read;
}

function toCall({ callId, name, executor }: Extract<TurnEvent, { type: 'tool.start' }>): TestToolCall {
  return { id: callId, name, args: undefined, executor };
}

/** After an approval the call itself was emitted in the part before. */
function addResult(calls: TestToolCall[], event: Extract<TurnEvent, { type: 'tool.result' }>): void {
  const { callId: id, content: result, isError } = event;
  const call = calls.find((known) => known.id === id);
  if (call) Object.assign(call, { result, isError });
}

function toUsage({ type: _type, model: _model, ...usage }: Extract<TurnEvent, { type: 'usage' }>): Usage {
  return usage;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
