import { z } from 'zod';
import type { ConversationMessage } from '../agents/turn/input.ts';
import { TRIGGER_OWNER } from '../agents/turn/session-store.ts';
import type { SessionOwner } from '../agents/turn/session-store.ts';
import { Approval } from '../approvals/approval.ts';
import { RunStatus } from '../runs/run.ts';

const COST_OF_TURNS =
  'What its finished turns have cost, by `prices` of svc.config.ts as they were then. Absent: no model that answered had a price';

const COST_OF_TURN =
  'What its run has cost, with what its tools have asked of models, by `prices` of svc.config.ts as they were then. Absent: no model had a price, or the run has been deleted';

/** A session as every surface shows it. Tokens are those of its finished turns. */
export const Session = z.object({
  sessionId: z.uuid(),
  agent: z.string(),
  name: z.string().describe('What the client calls it'),
  kind: z
    .enum(['session', 'conversation'])
    .describe('`session`: the box keeps the messages. `conversation`: it only groups the turns'),
  owner: z
    .object({
      kind: z.enum(['person', 'client', 'user', 'trigger']),
      id: z.string().describe("A person's `sub`, the client, what that calls its user, or the id of the trigger"),
      client: z.string().nullable(),
    })
    .nullable()
    .describe('Whose it is. Null: code of the box began it, or it is from before sessions had owners'),
  turns: z.int(),
  inputTokens: z.int(),
  outputTokens: z.int(),
  totalTokens: z.int(),
  createdAt: z.iso.datetime(),
  lastActiveAt: z.iso.datetime(),
});
export type Session = z.infer<typeof Session>;

/** An owner as it is shown. */
export function toShownOwner({ id, client, userId }: SessionOwner): Session['owner'] {
  if (id === '') return null;
  if (id.startsWith(TRIGGER_OWNER)) return { kind: 'trigger', id: id.slice(TRIGGER_OWNER.length), client: null };
  if (client === null) return { kind: 'person', id: id.replace(/^person /, ''), client };
  return userId === null ? { kind: 'client', id: client, client } : { kind: 'user', id: userId, client };
}

/** What the agent keeps with a session beside what is said, as its last finished turn has left it. */
const Kept = z.object({
  plan: z.array(z.object({ content: z.string(), status: z.enum(['pending', 'in_progress', 'completed']) })),
  files: z
    .record(z.string(), z.string())
    .describe('What is in each, by its path; at most a megabyte together. Models are given the paths alone'),
});

export const SessionDetail = Session.extend({
  kept: Kept.describe('The plan and the files of an agent that has `planning` or `files`'),
  cost: z.number().optional().describe(COST_OF_TURNS),
  openTurn: z.object({ runId: z.uuid(), status: RunStatus }).nullable().describe('The turn that has not ended'),
  pendingApproval: Approval.nullable().describe('What its open turn waits for; the first, where that is more'),
  pendingApprovals: z.array(Approval).describe('All that it waits for together'),
  summary: z
    .object({ text: z.string(), upTo: z.string().describe('The id of the last message it replaces') })
    .nullable()
    .describe('What the model is shown in place of the older messages'),
});
export type SessionDetail = z.infer<typeof SessionDetail>;

export const SessionMessage = z.object({
  id: z.string(),
  role: z.enum(['user', 'assistant', 'tool', 'system', 'developer']),
  content: z.unknown().describe('Text, or the parts the client sent; null where there are only tool calls'),
  reasoning: z.string().nullable(),
  toolCalls: z.array(z.object({ callId: z.string(), name: z.string(), arguments: z.string() })),
  toolCallId: z.string().nullable().describe('Of a tool message: the call it answers'),
});
export type SessionMessage = z.infer<typeof SessionMessage>;

/** One finished turn. */
export const SessionTurn = z.object({
  runId: z.uuid().describe('The run behind the turn'),
  totalTokens: z.int(),
  inputTokens: z
    .int()
    .nullable()
    .describe('Of its run, with what its tools have asked of models. Null: the run has been deleted'),
  outputTokens: z.int().nullable(),
  cost: z.number().optional().describe(COST_OF_TURN),
  endedAt: z.iso.datetime(),
  messages: z.array(SessionMessage),
});
export type SessionTurn = z.infer<typeof SessionTurn>;

/** Of what is kept with a session what is shown of it. */
export function toKept(state: Record<string, unknown>, { withTexts }: { withTexts: boolean }): z.infer<typeof Kept> {
  const { data: plan = [] } = Kept.shape.plan.safeParse(state['todos']);
  const { data: files = {} } = Kept.shape.files.safeParse(state['files']);
  return { plan, files: withTexts ? files : Object.fromEntries(Object.keys(files).map((path) => [path, ''])) };
}

export function toSessionMessage(message: ConversationMessage): SessionMessage {
  const { id, role, content, reasoning = null } = message;
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
  return {
    id,
    role,
    content: content ?? null,
    reasoning,
    toolCalls: calls.map(({ id: callId, function: { name, arguments: args } }) => ({ callId, name, arguments: args })),
    toolCallId: message.role === 'tool' ? message.tool_call_id : null,
  };
}
