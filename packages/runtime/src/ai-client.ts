import { currentContext } from './engine/context.ts';
import type { EngineContext, StepContext } from './engine/context.ts';
import { parseDuration } from './engine/duration.ts';
import type { ChatAsked, ChatAskedMessage, ChatReply, EmbedAsked, EmbedReply } from './engine/model-calls.ts';
import type { ModelCaller, ModelUsage } from './engine/model-calls.ts';
import type { Tokens } from './engine/journal/run.ts';
import { ONCE } from './engine/primitives/step.ts';
import { encode } from './engine/serialize.ts';
import { createOutputRule } from './agents/turn/output.ts';
import { checkMembers } from './definition-checks.ts';
import { BoxError } from './errors.ts';
import { isSchema } from './schema/schema.ts';
import type { AnySchema, OutputOf } from './schema/schema.ts';
import { createTextPump } from './text-pump.ts';

/** A message of one call of a model: text, or parts as the provider takes them, such as images. */
export type AiMessage = ChatAskedMessage;

interface CallOptions {
  /** `<vendor>/<model>`. Default: that of the workspace. */
  model?: string | undefined;
  /** How long the whole call may take: milliseconds, or text such as `'30s'`. Default: 10 minutes. */
  timeout?: number | string | undefined;
  /** How often a request that failed in a way that passes is sent again. Default: 2. */
  maxRetries?: number | undefined;
}

export interface ChatOptions<S extends AnySchema | undefined = undefined> extends CallOptions {
  /** The one message of a user. Either this or `messages`. */
  prompt?: string | undefined;
  messages?: readonly AiMessage[] | undefined;
  /** The instructions, before all messages. */
  system?: string | undefined;
  /** The answer is JSON that this schema takes. One that does not fit is asked for again, once. */
  schema?: S;
  temperature?: number | undefined;
  /** The most tokens of the answer. */
  maxTokens?: number | undefined;
  topP?: number | undefined;
  stop?: string | readonly string[] | undefined;
  seed?: number | undefined;
  /** More of what the provider takes in a chat completion, under its own names: `{ reasoning_effort: 'low' }`. */
  parameters?: Record<string, unknown> | undefined;
  /** Models that are asked one after the other when this one still fails. */
  fallbackModels?: readonly string[] | undefined;
  /** In a step or a tool: is written the text as it comes, and left open. With `schema`, the whole answer at its end. */
  writable?: WritableStream<string> | undefined;
}

/** What a model answered. */
export interface ChatAnswer<O> {
  text: string;
  /** The answer by its schema; undefined: none was given. */
  object: O;
  /** What the model thought before, where its provider says it. */
  reasoning: string;
  /** `stop`, `length`, `content_filter`, or what else the provider says. */
  finishReason: string;
  usage: ModelUsage;
  /** The model that answered, as its provider names it. */
  model: string;
}

export interface EmbedOptions extends CallOptions {
  /** One text, or up to 10,000. Sent in batches. */
  input: string | readonly string[];
  /** Numbers of a vector, where the model lets one choose. */
  dimensions?: number | undefined;
}

export interface EmbedAnswer {
  /** One vector for each text, in their order. */
  vectors: number[][];
  usage: ModelUsage;
  /** The model that answered, as its provider names it. */
  model: string;
}

/** Asks a model once. */
export async function chat<S extends AnySchema | undefined = undefined>(
  options: ChatOptions<S>,
): Promise<ChatAnswer<S extends AnySchema ? OutputOf<S> : undefined>> {
  const context = contextOf('chat');
  const asked = toChatAsked(options);
  const { schema, writable } = options;
  if (writable && context.kind === 'body')
    throw invalid('chat', 'writable', 'works in a step and a tool: a workflow body cannot write to a stream');
  const pump = writable && createTextPump(writable);
  const ask = async (caller: ModelCaller, { execution }: StepContext): Promise<ChatReply> => {
    const rule = schema && (await createOutputRule(schema));
    return execution.ambient.chat(asked, { ...caller, onText: pump?.push }, rule);
  };
  try {
    const { content: text, reasoning, finishReason, usage, model } = await invoke(context, CHAT, asked, ask);
    if (pump && !pump.hasWritten()) pump.push(text);
    await pump?.end();
    return { text, object: (await toObject(schema, text)) as never, reasoning, finishReason, usage, model };
  } finally {
    pump?.release();
  }
}

/** Asks a model for the vectors of texts. */
export async function embed(options: EmbedOptions): Promise<EmbedAnswer> {
  const context = contextOf('embed');
  const asked = toEmbedAsked(options);
  const ask = (caller: ModelCaller, { execution }: StepContext): Promise<EmbedReply> =>
    execution.ambient.embed(asked, caller);
  const { vectors, usage, model } = await invoke(context, EMBED, asked, ask);
  return { vectors, usage, model };
}

// --- internal ---

const CHAT = 'ai.chat';
const EMBED = 'ai.embed';
const MOST_TEXTS = 10_000;
const MOST_RETRIES = 10;

function contextOf(caller: string): EngineContext {
  const context = currentContext();
  if (!context) throw new Error(`svc.ai.${caller}() works in a workflow, a step or a tool.`);
  // The calls of a turn's body are its conversation.
  if (context.kind === 'body' && context.execution.run.kind === 'agent')
    throw new Error(
      `svc.ai.${caller}() works in the tools of an agent, not in what its definition computes of a turn.`,
    );
  return context;
}

/** In a step a part of it; in a body one recorded call, which a replay does not make again. */
function invoke<T>(
  { kind, execution }: EngineContext,
  stepId: string,
  asked: object,
  ask: (caller: ModelCaller, step: StepContext) => Promise<T>,
): Promise<T> {
  const inStep = (isPart: boolean) => {
    const step = currentContext() as StepContext;
    const { call, attempt, stepName } = step;
    return ask({ ...callerOf(step), ...(isPart ? { part: { call, attempt, stepName } } : {}) }, step);
  };
  if (kind === 'step') return inStep(true);
  const action = { type: 'run', name: stepId, policy: ONCE, run: () => inStep(false) } as const;
  return execution.invoke({ kind: 'model', stepId, input: encode(asked, stepId), action }) as Promise<T>;
}

function callerOf(step: StepContext): ModelCaller {
  return { run: step.execution.run, signal: step.signal, spend: (tokens: Tokens) => step.spend(tokens) };
}

/** What the model was asked for, once more: a schema may make of JSON what no record holds. */
async function toObject(schema: AnySchema | undefined, text: string): Promise<unknown> {
  if (!schema) return undefined;
  const checked = await (await createOutputRule(schema)).check(text);
  if (checked.ok) return checked.value;
  // It fits when it is recorded; what reads it is another release of the code.
  throw fatal(new BoxError('model_output_invalid', `The recorded answer does not fit the schema. ${checked.issues}`));
}

const CALL_MEMBERS = ['model', 'timeout', 'maxRetries'];
const EMBED_MEMBERS = [...CALL_MEMBERS, 'input', 'dimensions'];
const CHAT_MEMBERS = [
  ...CALL_MEMBERS,
  'prompt',
  'messages',
  'system',
  'schema',
  'temperature',
  'maxTokens',
  'topP',
  'stop',
  'seed',
  'parameters',
  'fallbackModels',
  'writable',
];
const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant']);

function toChatAsked(options: ChatOptions<AnySchema | undefined>): ChatAsked {
  const refuse = (member: string, reason: string) => invalid('chat', member, reason);
  requireMembers('chat', options, CHAT_MEMBERS);
  const { prompt, messages, system, schema, parameters = {}, fallbackModels } = options;
  if (schema !== undefined && !isSchema(schema)) throw refuse('schema', 'must be a schema of zod');
  if ((prompt === undefined) === (messages === undefined))
    throw refuse('prompt', 'is what the model is asked, or "messages" is: pass one of them');
  if (prompt !== undefined && !isText(prompt)) throw refuse('prompt', 'must be a text that is not empty');
  if (system !== undefined && typeof system !== 'string') throw refuse('system', 'must be a text');
  const isList = messages === undefined || (Array.isArray(messages) && messages.length > 0);
  if (!isList) throw refuse('messages', 'must be a list with at least one message');
  for (const [index, message] of (messages ?? []).entries())
    if (!ROLES.has((message as AiMessage | null)?.role) || message.content === undefined)
      throw refuse(`messages[${index}]`, 'must be { role, content }, with the role system, user or assistant');
  if (fallbackModels !== undefined && !(Array.isArray(fallbackModels) && fallbackModels.every(isText)))
    throw refuse('fallbackModels', 'must be a list of model ids');
  const { temperature, maxTokens: max_tokens, topP: top_p, stop, seed } = options;
  return {
    ...toCall('chat', options),
    messages: [
      ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
      ...(messages ?? [{ role: 'user' as const, content: prompt }]),
    ],
    parameters: withoutUndefined({ temperature, max_tokens, top_p, stop, seed, ...parameters }),
    ...(fallbackModels === undefined ? {} : { fallbackModels }),
  };
}

function toEmbedAsked(options: EmbedOptions): EmbedAsked {
  const refuse = (member: string, reason: string) => invalid('embed', member, reason);
  requireMembers('embed', options, EMBED_MEMBERS);
  const { input, dimensions } = options;
  const texts: unknown = typeof input === 'string' ? [input] : input;
  if (!Array.isArray(texts) || texts.length === 0 || texts.length > MOST_TEXTS)
    throw refuse('input', `must be a text, or a list of 1 to ${MOST_TEXTS} texts`);
  const empty = texts.findIndex((text) => !isText(text));
  if (empty >= 0) throw refuse(texts === input ? `input[${empty}]` : 'input', 'must be a text that is not empty');
  if (dimensions !== undefined && !(Number.isInteger(dimensions) && dimensions > 0))
    throw refuse('dimensions', 'must be a whole number from 1');
  return { ...toCall('embed', options), input: texts as string[], ...(dimensions === undefined ? {} : { dimensions }) };
}

function toCall(caller: string, { model, timeout, maxRetries }: CallOptions) {
  if (model !== undefined && !isText(model)) throw invalid(caller, 'model', 'must be the id of a model');
  if (maxRetries !== undefined && !(Number.isInteger(maxRetries) && maxRetries >= 0 && maxRetries <= MOST_RETRIES))
    throw invalid(caller, 'maxRetries', `must be a whole number from 0 to ${MOST_RETRIES}`);
  return {
    ...(model === undefined ? {} : { model }),
    ...(timeout === undefined ? {} : { timeout: toMs(caller, timeout) }),
    ...(maxRetries === undefined ? {} : { maxRetries }),
  };
}

function toMs(caller: string, timeout: number | string): number {
  try {
    const ms = parseDuration(timeout);
    if (ms > 0) return ms;
  } catch {
    // Said below.
  }
  throw invalid(caller, 'timeout', 'must be a duration above 0, such as "30s"');
}

function requireMembers(caller: string, options: object, known: readonly string[]): void {
  try {
    checkMembers(`svc.ai.${caller}()`, options, known);
  } catch (error) {
    throw fatal(new BoxError('invalid_request', (error as Error).message));
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function withoutUndefined(parameters: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined));
}

function invalid(caller: string, param: string, reason: string): BoxError {
  return fatal(new BoxError('invalid_request', `"${param}" of svc.ai.${caller}() ${reason}.`, { details: { param } }));
}

/** Asked again, it would be refused again. */
function fatal(error: BoxError): BoxError {
  return Object.assign(error, { fatal: true });
}
