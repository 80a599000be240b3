import { setTimeout as wait } from 'node:timers/promises';
import type OpenAI from 'openai';
import type { ClientOptions } from 'openai';
import { LONGEST_TIMER_MS } from '../../engine/duration.ts';
import { DEFAULT_LIMITS } from '../../engine/limits.ts';
import { createHttpFetch } from '../../provider/http-fetch.ts';
import type { ProviderInUse } from '../../provider/provider.ts';
import type { Usage } from '../events/turn-events.ts';
import { NO_USAGE } from '../events/turn-events.ts';
import { answerTooLarge } from '../events/turn-errors.ts';
import type { ChatMessage, ToolCall } from './messages.ts';
import { createBreather } from './yielder.ts';
import { toDelta } from './provider-delta.ts';
import { answeredPage, cutShort, retryDelay, timedOut, toBrokenOff, toProviderError } from './provider-error.ts';
import { readProvider } from './provider-stream.ts';
import type { ProviderChunk } from './provider-stream.ts';
import { createReplyParts } from './reply.ts';
import type { ReplyOptions } from './reply.ts';
import { toResponseFormat } from './response-format.ts';

export interface ModelTool {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  strict?: boolean;
}

export interface ModelRequest {
  model: string;
  messages: ChatMessage[];
  tools: ModelTool[];
  /** Passed on to the provider as they came: temperature, top_p, max_tokens, stop, seed, response_format, … */
  parameters: Record<string, unknown>;
  /** JSON Schema of the answer. */
  outputSchema?: Record<string, unknown>;
  /** Milliseconds the whole call may take. Default: 10 minutes. */
  timeout?: number;
}

/** One finished model call. */
export interface ModelReply {
  content: string;
  reasoning: string;
  toolCalls: ToolCall[];
  finishReason: string;
  usage: Usage;
  /** The model that answered, as its provider names it. */
  model?: string;
}

/** Calls the provider, telling every part of its reply as it comes. Throws a ProviderError with the provider's status. */
export type CallModel = (request: ModelRequest, reply: ReplyOptions, signal: AbortSignal) => Promise<ModelReply>;

/**
 * The client of one process: connections are reused, the SDK is loaded at the first call.
 * @param headersOf asked for each call, in the step that makes it
 */
export function createModelClient(
  getProvider: () => Promise<ProviderInUse>,
  headersOf: () => Record<string, string> = () => ({}),
): CallModel {
  const clients = new Map<string, Promise<OpenAI>>();
  const clientFor = (provider: ProviderInUse): Promise<OpenAI> => {
    const key = `${provider.fetch ? 'stored' : 'given'} ${provider.baseUrl} ${provider.apiKey ?? ''}`;
    const known = clients.get(key);
    if (known) return known;
    const created = import('openai').then(({ OpenAI: Client }) => new Client(toClientOptions(provider)));
    clients.set(key, created);
    return created;
  };
  return async (request, reply, signal) => {
    const provider = await getProvider();
    const client = await clientFor(provider);
    const { timeout = DEFAULT_TIMEOUT_MS } = request;
    const headers = headersOf();
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(timedOut(timeout)), Math.min(timeout, LONGEST_TIMER_MS));
    const onAbort = (): void => ended.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const response = await send(client, request, { signal: ended.signal, headers });
      return await readReply(response, { ...reply, provider, signal: ended.signal });
    } catch (error) {
      throw ended.signal.aborted ? ended.signal.reason : toProviderError(error, provider);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  };
}

// --- internal ---

const DEFAULT_TIMEOUT_MS = 600_000;

/** The environment's variables of the SDK are somebody else's; the retries are ours, and so is the deadline. */
function toClientOptions({ baseUrl, apiKey, fetch }: ProviderInUse): ClientOptions {
  return {
    baseURL: baseUrl,
    apiKey: apiKey ?? 'none',
    ...(apiKey === undefined ? { defaultHeaders: { authorization: null } } : {}),
    organization: null,
    project: null,
    webhookSecret: null,
    logLevel: 'off',
    fetch: fetch ?? createHttpFetch({ followsRedirects: true }),
    maxRetries: 0,
    timeout: LONGEST_TIMER_MS,
  };
}

/** The head of the answer. What comes after it is never asked for again. */
async function send(
  client: OpenAI,
  request: ModelRequest,
  options: { signal: AbortSignal; headers: Record<string, string> },
): Promise<Response> {
  const { signal } = options;
  const body = toBody(request);
  for (let attempt = 1; ; attempt++) {
    try {
      return await client.chat.completions.create(body, options).asResponse();
    } catch (error) {
      const delay = signal.aborted ? undefined : retryDelay(error, attempt);
      if (delay === undefined) throw error;
      await wait(delay, undefined, { signal });
    }
  }
}

type Body = OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming;

function toBody(request: ModelRequest): Body {
  const tools = request.tools.map(({ name, description, parameters, strict }) => ({
    type: 'function' as const,
    function: { name, description, parameters, ...(strict === undefined ? {} : { strict }) },
  }));
  const { tool_choice, parallel_tool_calls, ...parameters } = request.parameters as Partial<Body>;
  // Without tools a provider refuses what is said about them.
  const aboutTools = tools.length > 0 ? { tools, tool_choice, parallel_tool_calls } : {};
  return {
    ...(request.outputSchema ? { response_format: toResponseFormat(request.outputSchema) as never } : {}),
    ...parameters,
    model: request.model,
    messages: request.messages.map(withArguments) as OpenAI.Chat.Completions.ChatCompletionMessageParam[],
    ...aboutTools,
    stream: true,
    stream_options: { include_usage: true },
  };
}

/** Some providers write no arguments where a call has none, and others refuse to read that back. */
function withArguments(message: ChatMessage): ChatMessage {
  if (message.role !== 'assistant' || !message.tool_calls?.some(isWithoutArguments)) return message;
  const calls = message.tool_calls.map((call) =>
    isWithoutArguments(call) ? { ...call, function: { ...call.function, arguments: '{}' } } : call,
  );
  return { ...message, tool_calls: calls };
}

function isWithoutArguments(call: { function: { arguments: string } }): boolean {
  return call.function.arguments.trim() === '';
}

/** Collects a reply. An answer that breaks off is a failure, never a short answer. */
async function readReply(
  response: Response,
  { provider, signal, ...options }: ReplyOptions & { provider: ProviderInUse; signal: AbortSignal },
): Promise<ModelReply> {
  if (/\bhtml\b/i.test(response.headers.get('content-type') ?? '')) {
    await response.body?.cancel();
    throw answeredPage();
  }
  const parts = createReplyParts(options);
  const turns = createBreather();
  let finishReason: string | undefined;
  let usage: Usage = NO_USAGE;
  let model: string | undefined;
  const read = (chunk: ProviderChunk): void => {
    if (chunk.error) throw toBrokenOff(chunk.error, provider);
    const delta = toDelta(chunk);
    if (delta.reasoning !== '') parts.reasoning(delta.reasoning);
    if (delta.text !== '') parts.text(delta.text);
    for (const call of delta.tools) parts.tool(call);
    finishReason = delta.finishReason ?? finishReason;
    usage = delta.usage ?? usage;
    model ??= delta.model;
  };
  const batches = readProvider(response);
  try {
    let next = await batches.next();
    for (; !next.done; next = await batches.next()) {
      for (const chunk of next.value) read(chunk);
      // It could never be recorded, so the rest of it is not read.
      if (parts.size > MOST_BYTES) throw answerTooLarge(parts.size, MOST_BYTES);
      await turns.breathe();
      const taken = options.untilTaken?.(signal);
      if (taken) await taken;
    }
    if (finishReason === undefined && !(next.value.isWhole && parts.hasAny)) throw cutShort();
  } finally {
    parts.close();
    // Of an answer that is not read to its end the connection is let go.
    await batches.return({ isWhole: false });
  }
  const reply = parts.close();
  const reason = finishReason ?? (reply.toolCalls.length > 0 ? 'tool_calls' : 'stop');
  return { ...reply, finishReason: reason, usage, ...(model === undefined ? {} : { model }) };
}

/** What one recorded result may take. */
const MOST_BYTES = DEFAULT_LIMITS.resultBytes;
