import type OpenAI from 'openai';
import { BoxError } from '../errors.ts';
import type { ProviderSettings } from '../provider/provider.ts';
import type { Emit, Usage } from '../wires/events.ts';
import type { ChatMessage, ToolCall } from './messages.ts';

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

/** Calls the provider, streaming every part to `emit` as it comes. Throws a ProviderError with the provider's status. */
export type CallModel = (request: ModelRequest, emit: Emit, signal: AbortSignal) => Promise<ModelReply>;

/** The provider answered with an error, or did not answer. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly code: string;
  readonly status: number;
  readonly fatal = true;

  constructor(status: number, code: string, message: string, cause: unknown) {
    super(message, { cause });
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
  return async (request, emit, signal) => {
    const client = await clientFor(await getProvider());
    try {
      const stream = await client.chat.completions.create(toBody(request), { signal });
      return await readReply(stream, emit);
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

/** Collects a streamed reply; opens and closes parts so that none overlap. */
async function readReply(stream: AsyncIterable<Chunk>, emit: Emit): Promise<ModelReply> {
  const parts = createParts(emit);
  let finishReason = 'stop';
  let usage = NO_USAGE;
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
  return { ...parts.close(), finishReason, usage };
}

type Open = { kind: 'text' | 'reasoning'; id: string } | { kind: 'tool'; index: number };

/** The reply so far: which part is open, and what each holds. */
function createParts(emit: Emit) {
  let open: Open | undefined;
  let content = '';
  let reasoning = '';
  const calls = new Map<number, ToolCall>();

  const closeOpen = () => {
    if (open?.kind === 'tool') {
      const call = calls.get(open.index);
      if (call) emit({ type: 'tool.end', callId: call.id, args: call.arguments });
    } else if (open) emit({ type: `${open.kind}.end`, id: open.id });
    open = undefined;
  };
  const append = (kind: 'text' | 'reasoning', text: string) => {
    if (open?.kind !== kind) {
      closeOpen();
      open = { kind, id: newId(kind === 'text' ? 'msg' : 'rsn') };
      emit({ type: `${kind}.start`, id: open.id });
    }
    emit({ type: `${kind}.delta`, id: open.id, text });
  };
  return {
    text(text: string) {
      content += text;
      append('text', text);
    },
    reasoning(text: string) {
      reasoning += text;
      append('reasoning', text);
    },
    tool(delta: OpenAI.Chat.Completions.ChatCompletionChunk.Choice.Delta.ToolCall) {
      const index = delta.index ?? calls.size;
      let call = calls.get(index);
      if (!call) {
        closeOpen();
        call = { id: delta.id || newId('call'), name: delta.function?.name ?? '', arguments: '' };
        calls.set(index, call);
        open = { kind: 'tool', index };
        emit({ type: 'tool.start', callId: call.id, name: call.name });
      }
      const fragment = delta.function?.arguments;
      if (!fragment) return;
      call.arguments += fragment;
      emit({ type: 'tool.args', callId: call.id, delta: fragment });
    },
    close() {
      closeOpen();
      return { content, reasoning, toolCalls: [...calls.values()] };
    },
  };
}

const NO_USAGE: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

function toUsage(usage: OpenAI.CompletionUsage): Usage {
  return {
    inputTokens: usage.prompt_tokens ?? 0,
    outputTokens: usage.completion_tokens ?? 0,
    cacheReadTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    cacheWriteTokens: 0,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}

function toProviderError(error: unknown): unknown {
  if (error instanceof BoxError) return error;
  const { status, message, code } = error as { status?: unknown; message?: unknown; code?: unknown };
  const text = typeof message === 'string' ? message : String(error);
  const upstream = typeof status === 'number' ? status : 502;
  return new ProviderError(
    upstream,
    typeof code === 'string' ? code : 'model_provider_failed',
    `The model provider failed: ${text}`,
    error,
  );
}

function newId(prefix: string): string {
  return `${prefix}_${globalThis.crypto.randomUUID().replaceAll('-', '')}`;
}
