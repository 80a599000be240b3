import type { ChatMessage } from '../agents/model/messages.ts';
import type { CallModel } from '../agents/model/client.ts';
import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import type { ModelReply } from '../agents/model/read-reply.ts';
import type { ModelTool } from '../tools/box-tool.ts';
import { ProviderError } from '../agents/model/provider-error.ts';
import { createReplyParts } from '../agents/model/reply.ts';
import type { ReplyOptions } from '../agents/model/reply.ts';
import { currentContext } from '../engine/context.ts';
import type { Journal } from '../engine/journal.ts';
import type { Usage } from '../agents/events/turn-events.ts';
import { NO_USAGE } from '../agents/events/turn-events.ts';
import { toWordVector } from './embeddings.ts';

/** What the model was asked in one call. */
export interface Asked {
  /** The agent, or the workflow whose code asks with `svc.ai`. */
  agent: string;
  runId: string;
  /** Null: a stateless turn. */
  sessionId: string | null;
  model: string;
  messages: ChatMessage[];
  tools: ModelTool[];
  parameters: Record<string, unknown>;
  /** Aborts when the turn is cancelled. */
  signal: AbortSignal;
}

/** What was asked for vectors in one call. */
export interface AskedVectors extends Pick<Asked, 'agent' | 'runId' | 'sessionId' | 'model' | 'signal'> {
  input: readonly string[];
  dimensions: number | undefined;
}

/** The vectors of texts, one for each; what it throws fails the test. */
export type VectorScript = (asked: AskedVectors) => Vectors | Promise<Vectors>;
type Vectors = number[][] | ProviderError;

export interface ScriptedReply {
  text?: string;
  reasoning?: string;
  /** `args` as an object, or as the text a model wrote. */
  toolCalls?: { name: string; args?: unknown; id?: string }[];
  /** Default: none. */
  usage?: Partial<Usage>;
  /** Default `tool_calls` with tool calls, else `stop`. */
  finishReason?: string;
}

/** A reply, or a function that looks at what was asked and answers one; what it throws fails the test. */
export type Script = ScriptedReply | ProviderError | ((asked: Asked) => Answer | Promise<Answer>);
type Answer = ScriptedReply | ProviderError | string;

/** Replies in the order they are asked for, or one function for all calls. */
export type ModelScript = readonly Script[] | ((asked: Asked) => Answer | Promise<Answer>);

/** What a test writes its model with. */
export const model = {
  /** One reply. */
  reply: (reply: ScriptedReply | string): ScriptedReply => (typeof reply === 'string' ? { text: reply } : reply),
  /** A provider that answers with an error. */
  fail: ({
    status = 500,
    code = 'model_provider_failed',
    message = 'The scripted model failed.',
  } = {}): ProviderError => new ProviderError(status, code, message),
};

/** The model of a test box. */
export interface TestModel {
  /** Every call so far, oldest first. */
  readonly asked: readonly Asked[];
  /** Every call of `svc.ai.embed` so far, oldest first. */
  readonly askedVectors: readonly AskedVectors[];
  /** Replies that have not been asked for; Infinity where one function answers all. */
  readonly left: number;
  /** Adds replies behind those that are left. */
  add(...replies: Script[]): void;
}

export interface ScriptedModel extends TestModel {
  call: CallModel;
  embed: CallEmbeddings;
  /** Throws what a script threw that was asked by this run, or by one below it: once. */
  rethrow(runId: string, journal: Pick<Journal, 'getRun'>): Promise<void>;
}

export function createScriptedModel(script: ModelScript, vectorsOf: VectorScript = toWordVectors): ScriptedModel {
  const replies = typeof script === 'function' ? [] : [...script];
  const asked: Asked[] = [];
  const askedVectors: AskedVectors[] = [];
  const thrown: { runId: string; error: unknown }[] = [];
  const answer = async (call: Asked): Promise<Answer> => {
    const next = replies.shift() ?? (typeof script === 'function' ? script : undefined);
    if (next === undefined) throw new Error(noReply(asked.length));
    return typeof next === 'function' ? next(call) : next;
  };
  /** What a script throws fails the test, whatever the run makes of it. */
  const keep = <T>(runId: string, answering: Promise<T>): Promise<T> =>
    answering.catch((error: unknown) => {
      thrown.push({ runId, error });
      throw error;
    });
  return {
    asked,
    askedVectors,
    get left() {
      return typeof script === 'function' ? Infinity : replies.length;
    },
    add: (...more) => void replies.push(...more),
    async call({ model: name, messages, tools, parameters }, options, signal) {
      const call = { ...whoAsks(), model: name, messages: [...messages], tools, parameters, signal };
      asked.push(call);
      const given = await keep(call.runId, answer(call));
      if (given instanceof ProviderError) throw given;
      return emit(typeof given === 'string' ? { text: given } : given, options, asked.length);
    },
    async embed({ model: name, input, dimensions }, { signal, onTokens }) {
      const call = { ...whoAsks(), model: name, input, dimensions, signal };
      askedVectors.push(call);
      const vectors = await keep(call.runId, (async () => vectorsOf(call))());
      if (vectors instanceof ProviderError) throw vectors;
      const inputTokens = input.reduce((sum, text) => sum + toWords(text).length, 0);
      onTokens(inputTokens);
      return { vectors, inputTokens };
    },
    async rethrow(runId, journal) {
      for (const one of thrown) {
        if (!(await isBelow(one.runId, runId, journal))) continue;
        thrown.splice(thrown.indexOf(one), 1);
        throw one.error;
      }
    },
  };
}

// --- internal ---

/** Whether the run is the other one, or one that it has started. */
async function isBelow(runId: string, top: string, journal: Pick<Journal, 'getRun'>): Promise<boolean> {
  for (let id: string | null | undefined = runId; id; id = (await journal.getRun(id))?.parentRunId)
    if (id === top) return true;
  return false;
}

/** Every call of a model is a step of the turn's run. */
function whoAsks(): Pick<Asked, 'agent' | 'runId' | 'sessionId'> {
  const { name = '', runId = '', sessionId = null } = currentContext()?.execution.run ?? {};
  return { agent: name, runId, sessionId };
}

function toWordVectors({ input, dimensions }: AskedVectors): number[][] {
  return input.map((text) => toWordVector(text, dimensions));
}

/** Streams a reply as a provider does: word by word. */
function emit(reply: ScriptedReply, options: ReplyOptions, nth: number): ModelReply {
  const parts = createReplyParts(options);
  const { text = '', reasoning = '', toolCalls = [], usage, finishReason } = reply;
  for (const piece of toWords(reasoning)) parts.reasoning(piece);
  for (const piece of toWords(text)) parts.text(piece);
  for (const [index, { id = `call_${nth}_${index + 1}`, name, args = {} }] of toolCalls.entries()) {
    const json = typeof args === 'string' ? args : JSON.stringify(args);
    parts.tool({ index, id, function: { name, arguments: json } });
  }
  return {
    ...parts.close(),
    finishReason: finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    usage: { ...NO_USAGE, ...usage },
  };
}

function toWords(text: string): string[] {
  return text.match(/\s*\S+\s*/g) ?? (text === '' ? [] : [text]);
}

function noReply(calls: number): string {
  return `The model was asked ${calls} times and its script has ${calls - 1} replies. Add one: model.reply('...').`;
}
