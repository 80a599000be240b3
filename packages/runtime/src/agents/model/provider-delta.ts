import type { Usage } from '../events/turn-events.ts';
import type { ProviderChunk } from './provider-stream.ts';
import type { ToolDelta } from './reply.ts';

/** What one piece of an answer brings, whatever the provider calls it. */
export interface ProviderDelta {
  reasoning: string;
  text: string;
  /** Of the tokens of the text. */
  logprobs: unknown[];
  tools: ToolDelta[];
  finishReason: string | undefined;
  /** Undefined: this piece says nothing about it. */
  usage: Usage | undefined;
  /** Who answers, as the provider names it. */
  model: string | undefined;
}

/** Of several choices the first counts. */
export function toDelta(chunk: ProviderChunk): ProviderDelta {
  const choices = listOf(chunk.choices).map(recordOf);
  const choice = choices.find(({ index }) => (index ?? 0) === 0) ?? {};
  const delta = recordOf(choice.delta);
  const reason = choice.finish_reason;
  const usage = chunk.usage ?? choice.usage ?? recordOf(chunk.x_groq).usage;
  return {
    reasoning: textOf(delta.reasoning_content) || textOf(delta.reasoning) || textOf(delta.thinking),
    // A refusal stands in the place of an answer.
    text: textOf(delta.content) + textOf(delta.refusal),
    logprobs: listOf(recordOf(choice.logprobs).content),
    tools: listOf(delta.tool_calls).map(toToolDelta),
    finishReason: typeof reason === 'string' && reason !== '' ? reason : undefined,
    model: typeof chunk.model === 'string' && chunk.model !== '' ? chunk.model : undefined,
    usage: typeof usage === 'object' && usage !== null ? toUsage(usage as ProviderChunk) : undefined,
  };
}

// --- internal ---

function recordOf(value: unknown): ProviderChunk {
  return typeof value === 'object' && value !== null ? (value as ProviderChunk) : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Text, or a list of parts with one. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return listOf(value)
    .map((part) => recordOf(part).text)
    .filter((text) => typeof text === 'string')
    .join('');
}

function toToolDelta(value: unknown): ToolDelta {
  const { index, id, function: called } = recordOf(value);
  const { name, arguments: args } = recordOf(called);
  return {
    ...(typeof index === 'number' ? { index } : {}),
    ...(typeof id === 'string' ? { id } : {}),
    function: {
      ...(typeof name === 'string' ? { name } : {}),
      ...(args == null ? {} : { arguments: typeof args === 'string' ? args : JSON.stringify(args) }),
    },
  };
}

/** What a provider does not report is 0: a guess would be taken for a bill. */
function toUsage(usage: ProviderChunk): Usage {
  const prompt = recordOf(usage.prompt_tokens_details);
  const completion = recordOf(usage.completion_tokens_details);
  return {
    inputTokens: firstNumber(usage.prompt_tokens, usage.input_tokens),
    outputTokens: firstNumber(usage.completion_tokens, usage.output_tokens),
    cacheReadTokens: firstNumber(prompt.cached_tokens, usage.prompt_cache_hit_tokens, usage.cache_read_input_tokens),
    cacheWriteTokens: firstNumber(
      prompt.cache_write_tokens,
      prompt.cache_creation_tokens,
      usage.cache_creation_input_tokens,
    ),
    reasoningTokens: firstNumber(completion.reasoning_tokens, usage.reasoning_tokens),
  };
}

function firstNumber(...values: unknown[]): number {
  return (values.find((value) => typeof value === 'number' && Number.isFinite(value)) as number | undefined) ?? 0;
}
