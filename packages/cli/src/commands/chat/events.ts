import type { OperationOutput } from '@svc/runtime/client';
import { CliError } from '../../errors.ts';
import type { Client } from '../../client/client.ts';
import { toSegment } from '../../client/client.ts';

/** What the box sends of a turn, of the events of AG-UI 1.0. */
export interface ChatEvent {
  type: string;
  [member: string]: unknown;
}

/** A call that waits for a person. */
export interface Pause {
  id: string;
  /** Absent: it was read from the box. */
  toolCallId?: string | undefined;
  /** The call is the line above. */
  isShown?: boolean;
  /** What is asked. */
  message: string;
  tool: string;
  arguments: unknown;
  /** What a person may decide: `approve`, `edit`, `reject`. */
  allow: readonly string[];
}

export interface Decision {
  interruptId: string;
  status: 'resolved';
  payload: { decision: string; input?: unknown; note?: string };
}

export interface TurnRequest {
  agent: string;
  session: string;
  /** What the person says. Absent: the session is read, or goes on with what was decided. */
  text?: string;
  decisions?: readonly Decision[];
}

/** The events of one turn. Throws a CliError where the box refuses it, or its connection is lost. */
export async function* runTurn(client: Client, request: TurnRequest): AsyncGenerator<ChatEvent> {
  const { agent, session, text, decisions = [] } = request;
  const body = {
    threadId: session,
    runId: crypto.randomUUID(),
    messages: text === undefined ? [] : [{ id: crypto.randomUUID(), role: 'user', content: text }],
    ...(decisions.length > 0 ? { resume: decisions } : {}),
  };
  const path = `/agui/v1/agents/${toSegment(agent)}`;
  let isOver = false;
  for await (const { data = '' } of client.stream({ method: 'POST', path, body })) {
    const event = JSON.parse(data) as ChatEvent;
    isOver = event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR';
    yield event;
  }
  if (isOver) return;
  throw new CliError('generic', 'The connection to the box ended in mid-answer. The agent goes on with it there.', {
    suggestion: `Run \`svc chat ${agent} --session ${session}\` to read it.`,
  });
}

/** What a turn waits for at its end; empty: it is over. */
export function listPauses(event: ChatEvent): Pause[] {
  const { type, interrupts = [] } = Object(event.outcome) as { type?: string; interrupts?: Interrupt[] };
  if (event.type !== 'RUN_FINISHED' || type !== 'interrupt') return [];
  return interrupts.map(({ id, toolCallId, message, metadata: { svc } }) => ({
    id,
    toolCallId,
    message,
    tool: svc.tool,
    arguments: svc.arguments,
    allow: svc.allow,
  }));
}

/** What the last turn of the session waits for, where the box refused another one for it. Throws any other error. */
export async function readPauses(client: Client, error: unknown): Promise<Pause[]> {
  const isWaiting = error instanceof CliError && error.code === 'approval_pending';
  const runId = isWaiting ? (error.details as { runId?: string }).runId : undefined;
  if (runId === undefined) throw error;
  const { items } = await client.get<OperationOutput<'approvals.list'>>('/api/approvals', {
    run: runId,
    status: 'pending',
  });
  const whole = await Promise.all(
    items.map(async (item) =>
      item.cut.length === 0 ? item : client.get<OperationOutput<'approvals.get'>>(`/api/approvals/${item.approvalId}`),
    ),
  );
  return whole.map(({ approvalId, title, payload, allow }) => {
    const { tool, arguments: args } = Object(payload) as { tool?: string; arguments?: unknown };
    return { id: approvalId, message: title, tool: tool ?? '', arguments: args, allow: allow ?? ALL };
  });
}

// --- internal ---

const ALL = ['approve', 'edit', 'reject'];

interface Interrupt {
  id: string;
  toolCallId?: string;
  message: string;
  metadata: { svc: { tool: string; arguments: unknown; allow: string[] } };
}
