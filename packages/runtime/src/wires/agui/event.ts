import type { AguiContent, AguiMessage } from './input.ts';

/** What this wire sends, of the events of AG-UI 1.0. An optional member is absent, never null. */
export type AguiEvent =
  | {
      type: 'RUN_STARTED';
      threadId: string;
      runId: string;
      protocolVersion: '1.0';
      parentRunId?: string;
      metadata?: Metadata;
    }
  | {
      type: 'RUN_FINISHED';
      threadId: string;
      runId: string;
      outcome: AguiOutcome;
      usage?: AguiUsage[];
      metadata?: Metadata;
    }
  | { type: 'RUN_ERROR'; message: string; code: string; usage?: AguiUsage[]; metadata?: Metadata }
  | { type: 'STEP_STARTED' | 'STEP_FINISHED'; stepName: string }
  | { type: 'TEXT_MESSAGE_START'; messageId: string; role: 'assistant' }
  | { type: 'TEXT_MESSAGE_CONTENT' | 'REASONING_MESSAGE_CONTENT'; messageId: string; delta: string }
  | { type: 'TEXT_MESSAGE_END' | 'REASONING_START' | 'REASONING_MESSAGE_END' | 'REASONING_END'; messageId: string }
  | { type: 'REASONING_MESSAGE_START'; messageId: string; role: 'reasoning' }
  | { type: 'REASONING_ENCRYPTED_VALUE'; subtype: 'message'; entityId: string; encryptedValue: string }
  | { type: 'TOOL_CALL_START'; toolCallId: string; toolCallName: string; parentMessageId: string }
  | { type: 'TOOL_CALL_ARGS'; toolCallId: string; delta: string }
  | { type: 'TOOL_CALL_END'; toolCallId: string }
  | { type: 'TOOL_CALL_RESULT'; messageId: string; toolCallId: string; content: AguiContent; role: 'tool' }
  | { type: 'STATE_SNAPSHOT'; snapshot: unknown }
  | { type: 'MESSAGES_SNAPSHOT'; messages: AguiMessage[] };

export type AguiOutcome =
  | { type: 'success'; pendingToolCallIds?: string[] }
  | { type: 'interrupt'; interrupts: AguiInterrupt[] }
  | { type: 'cancelled' };

export interface AguiInterrupt {
  id: string;
  reason: string;
  message: string;
  /** Absent: what waits is of no call. */
  toolCallId?: string;
  responseSchema: Record<string, unknown>;
  /** ISO 8601. */
  expiresAt?: string;
  metadata?: Metadata;
}

/** Totals include their parts. A part that the provider does not report is absent. */
export interface AguiUsage {
  provider?: string;
  model: string;
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  cachedInputTokens?: number;
  cacheWriteInputTokens?: number;
  reasoningTokens?: number;
}

/** What is ours is under `svc`. */
interface Metadata {
  svc: Record<string, unknown>;
}
