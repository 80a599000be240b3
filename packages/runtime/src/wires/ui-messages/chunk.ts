/** What this wire streams, by the UI message stream protocol of the AI SDK: of each chunk the members the box sends. */
export type UiChunk =
  | { type: 'start'; messageId?: string; messageMetadata: UiMetadata }
  | { type: 'start-step' }
  | { type: 'finish-step' }
  | { type: 'text-start' | 'reasoning-start'; id: string; providerMetadata: PartMetadata }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | { type: 'text-end' | 'reasoning-end'; id: string }
  | ({ type: 'tool-input-start' } & UiCall)
  | { type: 'tool-input-delta'; toolCallId: string; inputTextDelta: string }
  | ({ type: 'tool-input-available'; input: unknown; providerMetadata: PartMetadata } & UiCall)
  | ({ type: 'tool-input-error'; input: unknown; errorText: string; providerMetadata: PartMetadata } & UiCall)
  | { type: 'tool-approval-request'; approvalId: string; toolCallId: string; approvalDescriptor: ApprovalDescriptor }
  | { type: 'tool-output-available'; toolCallId: string; output: unknown; providerExecuted?: true }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string; providerExecuted?: true }
  | { type: 'tool-output-denied'; toolCallId: string }
  | { type: 'data-approval'; data: { approvalId: string; title: string }; transient: true }
  | { type: 'data-state'; data: Record<string, unknown>; transient: true }
  | { type: 'finish'; finishReason: UiFinishReason; messageMetadata: UiMetadata }
  | { type: 'abort'; reason: string }
  | { type: 'error'; errorText: string };

export type UiFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls';

export interface UiCall {
  toolCallId: string;
  toolName: string;
  /** The box runs it. Absent: the client does. */
  providerExecuted?: true;
}

/** The message of the thread that a part belongs to; clients send it back. */
export interface PartMetadata {
  svc: { messageId: string };
}

/** What a client keeps of the message as its `metadata`. */
export interface UiMetadata {
  svc: { runId: string; usage?: { inputTokens: number; outputTokens: number; totalTokens: number } };
}

/** What is asked about a call that waits. */
export interface ApprovalDescriptor {
  title: string;
  /** Absent: the result of the call waits. */
  tool?: string;
  arguments?: unknown;
  allow: readonly string[];
  /** The sub-agent whose call it is. */
  agent?: string;
  /** ISO 8601. */
  expiresAt?: string;
}
