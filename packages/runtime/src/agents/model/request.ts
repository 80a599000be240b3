import type { Fetch } from '../../provider/http-fetch.ts';
import type { ProviderSettings } from '../../provider/provider.ts';
import type { ModelTool } from '../../tools/box-tool.ts';
import type { ChatMessage } from './messages.ts';
import { toResponseFormat } from './response-format.ts';

export interface ModelRequest {
  model: string;
  messages: ChatMessage[];
  tools: ModelTool[];
  /** Passed on to the provider as they came: temperature, top_p, max_tokens, stop, seed, response_format, … */
  parameters: Record<string, unknown>;
  /** Passed on too, unless the provider refuses them for this model. */
  hints?: Record<string, unknown> | undefined;
  /** JSON Schema of the answer. */
  outputSchema?: Record<string, unknown>;
  /** Milliseconds the whole call may take. Default: 10 minutes. */
  timeout?: number;
  /** How often a request that failed is sent again to the same model. Default: 2. */
  maxRetries?: number;
  /** Asked one after the other when it still fails. */
  fallbackModels?: readonly string[];
}

export interface PostOptions {
  fetch: Fetch;
  headers: Record<string, string>;
  signal: AbortSignal;
}

/** The provider answered with a status that is no success. */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal';
  readonly status: number;
  readonly headers: Headers;
  /** The member `error` of its answer. */
  readonly error: unknown;
  readonly code: unknown;

  constructor({ status, headers }: Response, error: unknown) {
    super(`The provider answered ${status}.`);
    this.status = status;
    this.headers = headers;
    this.error = error;
    this.code = (error as { code?: unknown } | null | undefined)?.code;
  }
}

/** Sends JSON to the provider, and answers with the head of the answer. Throws `ProviderRefusal`, or an error whose cause is what failed. */
export async function postToProvider(
  { baseUrl, apiKey }: ProviderSettings,
  { path, body, fetch, headers, signal }: PostOptions & { path: string; body: string },
): Promise<Response> {
  const url = `${baseUrl.replace(/\/$/, '')}${path}`;
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      'user-agent': 'svc',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      ...headers,
    },
    body,
    signal,
  }).catch((error: unknown) => {
    throw new Error('The provider was not reached.', { cause: error });
  });
  if (response.ok) return response;
  throw new ProviderRefusal(response, parseError(await response.text().catch(() => '')));
}

/** The body of a streamed chat completion. */
export function toCompletionBody(request: ModelRequest): string {
  const tools = request.tools.map(({ name, description, parameters, strict }) => ({
    type: 'function',
    function: { name, description, parameters, ...(strict === undefined ? {} : { strict }) },
  }));
  const { tool_choice, parallel_tool_calls, ...parameters } = request.parameters;
  // Without tools a provider refuses what is said about them.
  const aboutTools = tools.length > 0 ? { tools, tool_choice, parallel_tool_calls } : {};
  return JSON.stringify({
    ...(request.outputSchema ? { response_format: toResponseFormat(request.outputSchema) } : {}),
    ...request.hints,
    ...parameters,
    model: request.model,
    messages: request.messages.map(withArguments),
    ...aboutTools,
    stream: true,
    stream_options: { include_usage: true },
  });
}

// --- internal ---

function parseError(text: string): unknown {
  try {
    return (JSON.parse(text) as { error?: unknown } | null)?.error;
  } catch {
    return undefined;
  }
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
