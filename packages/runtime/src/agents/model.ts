import type OpenAI from 'openai';
import { BoxError } from '../errors.ts';
import type { ProviderSettings } from '../provider/provider.ts';
import type { Usage } from '../wires/events.ts';
import { NO_USAGE } from '../wires/events.ts';
import type { ChatMessage, ToolCall } from './messages.ts';
import { createReplyParts } from './reply.ts';
import type { ReplyOptions } from './reply.ts';

export interface ModelTool {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

export interface ModelRequest {
  model: string;
  messages: ChatMessage[];
  tools: ModelTool[];
  /** Passed on to the provider as they came: temperature, top_p, max_tokens, stop, seed, response_format, … */
  parameters: Record<string, unknown>;
}

/** One finished model call. */
export interface ModelReply {
  content: string;
  reasoning: string;
  toolCalls: ToolCall[];
  finishReason: string;
  usage: Usage;
}

/** Calls the provider, telling every part of its reply as it comes. Throws a ProviderError with the provider's status. */
export type CallModel = (request: ModelRequest, reply: ReplyOptions, signal: AbortSignal) => Promise<ModelReply>;

/** The provider answered with an error, or did not answer. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly code: string;
  readonly status: number;
  readonly fatal = true;

  /** @param retryAfter seconds the provider asks to wait; kept in `cause`, the member of an error the journal keeps */
  constructor(status: number, code: string, message: string, retryAfter?: number) {
    super(message, retryAfter === undefined ? undefined : { cause: { retryAfter } });
    this.status = status;
    this.code = code;
  }
}

/** The client of one process: connections are reused, the SDK is loaded at the first call. */
export function createModelClient(getProvider: () => Promise<ProviderSettings>): CallModel {
  const clients = new Map<string, Promise<OpenAI>>();
  const clientFor = (provider: ProviderSettings): Promise<OpenAI> => {
    const key = `${provider.baseUrl} ${provider.apiKey ?? ''}`;
    const known = clients.get(key);
    if (known) return known;
    const created = import('openai').then(
      ({ OpenAI: Client }) =>
        new Client({ baseURL: provider.baseUrl, apiKey: provider.apiKey ?? 'none', maxRetries: 2 }),
    );
    clients.set(key, created);
    return created;
  };
  return async (request, reply, signal) => {
    const client = await clientFor(await getProvider());
    try {
      const stream = await client.chat.completions.create(toBody(request), { signal });
      return await readReply(stream, reply);
    } catch (error) {
      throw signal.aborted ? signal.reason : toProviderError(error);
    }
  };
}

// --- internal ---

type Chunk = OpenAI.Chat.Completions.ChatCompletionChunk;
type Delta = Chunk['choices'][number]['delta'] & { reasoning_content?: unknown; reasoning?: unknown };

function toBody(request: ModelRequest): OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming {
  const tools = request.tools.map(({ name, description, parameters }) => ({
    type: 'function' as const,
    function: { name, description, parameters },
  }));
  return {
    ...request.parameters,
    model: request.model,
    messages: request.messages as OpenAI.Chat.Completions.ChatCompletionMessageParam[],
    ...(tools.length > 0 ? { tools } : {}),
    stream: true,
    stream_options: { include_usage: true },
  };
}

/** Collects a streamed reply. An answer that breaks off is a failure, never a short answer. */
async function readReply(stream: AsyncIterable<Chunk>, options: ReplyOptions): Promise<ModelReply> {
  const parts = createReplyParts(options);
  let finishReason: string | undefined;
  let usage = NO_USAGE;
  try {
    for await (const chunk of stream) {
      if (chunk.usage) usage = toUsage(chunk.usage);
      const choice = chunk.choices?.[0];
      if (!choice) continue;
      const delta = (choice.delta ?? {}) as Delta;
      const reasoning = delta.reasoning_content ?? delta.reasoning;
      if (typeof reasoning === 'string' && reasoning !== '') parts.reasoning(reasoning);
      if (typeof delta.content === 'string' && delta.content !== '') parts.text(delta.content);
      for (const call of delta.tool_calls ?? []) parts.tool(call);
      if (choice.finish_reason) finishReason = choice.finish_reason;
    }
    if (finishReason === undefined) throw new Error('The answer broke off without a finish reason.');
  } finally {
    parts.close();
  }
  return { ...parts.close(), finishReason, usage };
}

function toUsage(usage: OpenAI.CompletionUsage): Usage {
  return {
    inputTokens: usage.prompt_tokens ?? 0,
    outputTokens: usage.completion_tokens ?? 0,
    cacheReadTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    cacheWriteTokens: 0,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}

/** What of the provider's status is the caller's to know: its own request, or trouble that passes. The rest is 502. */
const TOLD_STATUSES = new Set([400, 413, 422, 429]);

/** Tells the message of a provider's error object and nothing else of what the address answered: it may be anyone's. */
function toProviderError(error: unknown): unknown {
  if (error instanceof BoxError) return error;
  const { status, code, error: body, message, headers } = error as Failure;
  const told = typeof body?.message === 'string' ? body.message : undefined;
  if (typeof status !== 'number')
    return new ProviderError(502, DEFAULT_CODE, `The model provider failed: ${told ?? String(message ?? error)}`);
  const retryAfter = headers?.get('retry-after') ?? undefined;
  return new ProviderError(
    TOLD_STATUSES.has(status) || (status >= 500 && status <= 599) ? status : 502,
    typeof code === 'string' ? code : DEFAULT_CODE,
    `The model provider answered ${status}: ${told ?? 'no message.'}`,
    retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined,
  );
}

const DEFAULT_CODE = 'model_provider_failed';

/** An error of the SDK, as far as it is read. */
interface Failure {
  status?: unknown;
  code?: unknown;
  message?: unknown;
  error?: { message?: unknown };
  headers?: Headers;
}
