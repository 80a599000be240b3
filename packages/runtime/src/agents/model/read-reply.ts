import type { HeldBy } from '../../approvals/held-text.ts';
import { DEFAULT_LIMITS } from '../../engine/limits.ts';
import type { ProviderSettings } from '../../provider/provider.ts';
import { NO_USAGE } from '../events/turn-events.ts';
import type { Usage } from '../events/turn-events.ts';
import { answerTooLarge } from '../events/turn-errors.ts';
import type { ToolCall } from './messages.ts';
import { toDelta } from './provider-delta.ts';
import { answeredPage, cutShort, toBrokenOff } from './provider-error.ts';
import { readProvider } from './provider-stream.ts';
import type { ProviderChunk } from './provider-stream.ts';
import { createReplyParts } from './reply.ts';
import type { BegunParts, ReplyOptions } from './reply.ts';
import { createYielder } from '../../yielder.ts';

/** One finished model call. */
export interface ModelReply {
  content: string;
  reasoning: string;
  toolCalls: ToolCall[];
  finishReason: string;
  usage: Usage;
  /** What it has cost by the prices there were. Absent: its model has none. */
  cost?: number;
  /** The model that answered, as its provider names it. */
  model?: string;
  /** The model that was asked in the end, where the one of the request failed. */
  fallback?: string;
  /** The guardrail that ended it. Absent: none did. */
  blockedBy?: string;
  /** The calls that wait for an operator, each with the guardrail that holds it. Absent: none does. */
  held?: HeldCall[];
  /** What a guardrail holds of it, with what is behind that. Absent: nothing. */
  heldOutput?: HeldOutput;
  /** What it was asked with besides the messages. Absent: the same as the call of the turn before it. */
  request?: RecordedRequest;
}

/** What goes on behind what was emitted of a reply, once it is approved: its texts are the rest alone. */
export interface HeldOutput extends HeldBy, Pick<ModelReply, 'content' | 'reasoning' | 'toolCalls' | 'held'> {
  begun: BegunParts;
}

export interface HeldCall {
  callId: string;
  rule: string;
  /** Absent: it was recorded by an older box. */
  ruleId?: string;
}

/** What a recorded call keeps of its request, for people to read. */
export interface RecordedRequest {
  /** The instructions, the client's own system texts, and what stands for older messages: at most 64 KiB of them. */
  system: string | null;
  /** The names of the tools that were offered. */
  tools: string[];
}

export interface ReadReplyOptions extends ReplyOptions {
  provider: ProviderSettings;
  signal: AbortSignal;
  /** What the provider says of single tokens is passed on. */
  hasLogprobs: boolean;
}

/** Collects a reply. An answer that breaks off is a failure, never a short answer. */
export async function readReply(
  response: Response,
  { provider, signal, hasLogprobs, ...options }: ReadReplyOptions,
): Promise<ModelReply> {
  if (/\bhtml\b/i.test(response.headers.get('content-type') ?? '')) {
    await response.body?.cancel();
    throw answeredPage();
  }
  const parts = createReplyParts(options);
  const yielder = createYielder();
  let finishReason: string | undefined;
  let usage: Usage = NO_USAGE;
  let model: string | undefined;
  let saidOfTokens = 0;
  const readLogprobs = (tokens: readonly unknown[]): void => {
    if (!hasLogprobs || tokens.length === 0) return;
    const size = JSON.stringify(tokens).length;
    saidOfTokens += size;
    if (saidOfTokens > MOST_OF_TOKENS) throw answerTooLarge(saidOfTokens, MOST_OF_TOKENS);
    options.emit({ type: 'text.logprobs', tokens, size });
  };
  const read = (chunk: ProviderChunk): void => {
    if (chunk.error) throw toBrokenOff(chunk.error, provider);
    const delta = toDelta(chunk);
    if (delta.reasoning !== '') parts.reasoning(delta.reasoning);
    readLogprobs(delta.logprobs);
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
      await yielder.yieldIfDue();
      const taken = options.untilTaken?.(signal);
      if (taken) await taken;
    }
    if (finishReason === undefined && !(next.value.isWhole && parts.hasAny)) throw cutShort();
  } finally {
    parts.close();
    // Frees the connection of an answer that is not read to its end.
    await batches.return({ isWhole: false });
  }
  const reply = parts.close();
  const reason = finishReason ?? (reply.toolCalls.length > 0 ? 'tool_calls' : 'stop');
  return { ...reply, finishReason: reason, usage, ...(model === undefined ? {} : { model }) };
}

// --- internal ---

/** What one recorded result may take. */
const MOST_BYTES = DEFAULT_LIMITS.resultBytes;
/** Characters of what is said of the tokens of one answer: twenty alternatives of each take some 1,500. */
const MOST_OF_TOKENS = 16_777_216;
