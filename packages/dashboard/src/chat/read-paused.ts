import type { AgentInterrupt, Client, OperationOutput } from '@svc/runtime/client';
import { toChatMessages } from './message.ts';
import type { ChatMessage, ChatToolCall } from './message.ts';
import type { PausedThread } from './create-chat.ts';

/** A conversation whose turn waits for a person, put together from what the box lists of it. Undefined: it does not wait. */
export async function readPaused(
  client: Client,
  { agent, threadId }: { agent: string; threadId: string },
): Promise<PausedThread | undefined> {
  const session = await client.call('sessions.get', { id: threadId, agent });
  // An older box answers the first alone.
  const { pendingApproval: first, pendingApprovals, openTurn } = session as Answer;
  if (!first || !openTurn) return undefined;
  const { runId } = openTurn;
  const messages = await readTurns(client, session.sessionId);
  const [run, steps] = await Promise.all([client.call('runs.get', { id: runId }), readSteps(client, runId)]);
  const made = toMade(runId, steps);
  const from = Date.parse(run.createdAt);
  const tokens = { inputTokens: run.inputTokens, outputTokens: run.outputTokens };
  return {
    messages: [...messages, ...toAsked(run.input), ...made],
    state: toState(session, made),
    interrupts: toInterrupts(pendingApprovals ?? [first], made),
    turns: [{ runId, startedAt: from, steps: [], ...tokens, finishReason: 'interrupt' }],
  };
}

// --- internal ---

type Session = OperationOutput<'sessions.get'>;
type Answer = Omit<Session, 'pendingApprovals' | 'kept'> & Partial<Pick<Session, 'pendingApprovals' | 'kept'>>;
type Approval = OperationOutput<'approvals.decide'>;
type Step = OperationOutput<'runs.steps'>['items'][number];

/** What the turns before have left, with the plan of this one. An older box does not say. */
function toState({ kept }: Answer, made: readonly ChatMessage[]): unknown {
  const calls = made.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : []));
  const planned = calls.findLast((call) => call.function.name === 'write_todos');
  const { todos = kept?.plan ?? [] } = planned ? (JSON.parse(planned.function.arguments) as { todos?: object[] }) : {};
  return { todos, files: kept?.files ?? {} };
}

/** All finished turns of a session. */
async function readTurns(client: Client, sessionId: string): Promise<ChatMessage[]> {
  const messages: ChatMessage[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.call('sessions.messages', {
      id: sessionId,
      limit: 200,
      ...(cursor === undefined ? {} : { cursor }),
    });
    messages.push(...page.items.flatMap(toChatMessages));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return messages;
}

async function readSteps(client: Client, id: string): Promise<Step[]> {
  const steps: Step[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.call('runs.steps', { id, limit: 200, ...(cursor === undefined ? {} : { cursor }) });
    steps.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return steps;
}

/** What the turn was asked. */
function toAsked(input: unknown): ChatMessage[] {
  const { messages = [] } = (input ?? {}) as { messages?: { id?: string; role: string; content: unknown }[] };
  return messages.flatMap(({ id, role, content }) =>
    role === 'user' && id !== undefined
      ? toChatMessages({
          messages: [{ id, role, content, reasoning: null, toolCalls: [], toolCallId: null }],
        })
      : [],
  );
}

/** What the turn has made, under the ids it was streamed with. */
function toMade(runId: string, steps: readonly Step[]): ChatMessage[] {
  let reply = 0;
  return steps.flatMap((step): ChatMessage[] => {
    if (step.kind === 'tool' && step.output !== null) {
      const { id = '' } = (step.input ?? {}) as { id?: string };
      const { content = '', held } = step.output as { content?: unknown; held?: unknown };
      // It waits for a decision, which is recorded behind it.
      if (held !== undefined) return [];
      return [{ id: `${id}-result`, role: 'tool', toolCallId: id, content: toShown(content) }];
    }
    if (step.kind !== 'model' || step.output === null || step.name === 'compact') return [];
    const { content, reasoning = '', toolCalls = [] } = step.output as ModelOutput;
    const id = `msg_${runId.replaceAll('-', '')}_${++reply}`;
    const calls = toolCalls.map(({ id: callId, name, arguments: args }) => ({ callId, name, arguments: args }));
    return toChatMessages({
      messages: [{ id, role: 'assistant', content, reasoning: reasoning || null, toolCalls: calls, toolCallId: null }],
    });
  });
}

interface ModelOutput {
  content: unknown;
  reasoning?: string;
  toolCalls?: { id: string; name: string; arguments: string }[];
}

function toShown(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content);
}

/** In the order of their calls. An approval does not say which call it is about, but what the call is. */
function toInterrupts(approvals: readonly Approval[], made: readonly ChatMessage[]): AgentInterrupt[] {
  const answered = new Set(made.flatMap((one) => (one.role === 'tool' ? one.toolCallId : [])));
  const open = made
    .flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : []))
    .filter(({ id }) => !answered.has(id));
  const order = open.map(({ id }) => id);
  const interrupts = approvals.map((approval): AgentInterrupt => {
    const { tool, arguments: args } = (approval.payload ?? {}) as { tool?: string; arguments?: unknown };
    if (tool === undefined) return toTextInterrupt(approval);
    const at = open.findIndex((call) => call.function.name === tool && isSameJson(call, args));
    const [call] = at < 0 ? [] : open.splice(at, 1);
    return {
      id: approval.approvalId,
      reason: 'tool_call',
      message: approval.title,
      toolCallId: call?.id ?? '',
      responseSchema: {},
      ...(approval.expiresAt === null ? {} : { expiresAt: approval.expiresAt }),
      metadata: { svc: { tool, arguments: args, allow: approval.allow ?? ['approve', 'edit', 'reject'] } },
    };
  });
  const placeOf = ({ toolCallId = '' }: AgentInterrupt) => order.indexOf(toolCallId);
  return interrupts.toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** Of a text that a guardrail holds. */
function toTextInterrupt({ approvalId: id, title: message, allow }: Approval): AgentInterrupt {
  const asked = { allow: allow ?? ['approve', 'reject'] };
  return { id, reason: 'confirmation', message, responseSchema: {}, metadata: { svc: asked } };
}

function isSameJson(call: ChatToolCall, args: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(call.function.arguments)) === JSON.stringify(args);
  } catch {
    return false;
  }
}
