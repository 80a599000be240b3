import { z } from 'zod';
import { isOfCopilot } from '../definitions/subagents.ts';
import type { HookEntry, HookRow } from '../engine/journal/hooks.ts';
import type { Journal } from '../engine/journal.ts';
import type { ApprovalEvent } from '../engine/primitives/approval.ts';
import { decode, encode } from '../engine/serialize.ts';
import { toIso, toJsonValue } from '../json-value.ts';
import { previewOf, previewOfLarge } from '../preview.ts';
import type { JsonSchema } from '../schema/schema.ts';
import type { VersionedRun } from '../versions/versions.ts';
import { digestArguments } from './approvers.ts';
import { isOfText } from './held-text.ts';
import type { HeldApproval } from './held-text.ts';
import { isOfCall } from './tool-approval.ts';
import type { ToolApproval } from './tool-approval.ts';

export const ApprovalStatus = z.enum(['pending', 'approved', 'rejected', 'expired', 'cancelled']);
export type ApprovalStatus = z.infer<typeof ApprovalStatus>;

export const ApprovalSource = z.enum(['workflow', 'tool', 'guardrail']);
export type ApprovalSource = z.infer<typeof ApprovalSource>;

export const Approval = z.object({
  approvalId: z.string(),
  source: ApprovalSource,
  runId: z.uuid(),
  sessionId: z.string().nullable(),
  title: z.string(),
  payload: z.unknown(),
  status: ApprovalStatus,
  decision: z.enum(['approve', 'reject']).nullable(),
  note: z.string().nullable(),
  decidedBy: z.string().nullable().describe('Null: undecided, or the time was up'),
  allow: z
    .array(z.enum(['approve', 'edit', 'reject']))
    .nullable()
    .describe(
      'What may be decided about a tool call, or a text that a guardrail holds; null: all, and the input is for the workflow to read',
    ),
  by: z
    .enum(['operator', 'user'])
    .describe('Who decides; `user`: the end user of the conversation, over its wire, and operators, too'),
  approvers: z
    .array(z.string())
    .nullable()
    .describe('The people, by their ids, and the roles, as `role:admin`, that decide; null: every operator'),
  argsDigest: z.string().nullable().describe('SHA-256 of the arguments of a tool call; null: there are none'),
  description: z.string().nullable().describe('What they should know to decide'),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
  audit: z.array(z.object({ at: z.iso.datetime(), action: z.string(), by: z.string().nullable() })),
});
export type Approval = z.infer<typeof Approval>;

/** An approval by its id. */
export const ApprovalDetail = Approval.extend({
  inputSchema: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('The JSON Schema of what may be given as `input`; null: there is none, or nothing may be given'),
  input: z.unknown().describe('What was given with the decision in the place of what was asked; null: nothing'),
});
export type ApprovalDetail = z.infer<typeof ApprovalDetail>;

/** An approval in a list. */
export const ListedApproval = Approval.extend({
  cut: z
    .array(z.enum(['payload']))
    .describe(
      'Too large for a list, which shows the beginning of its JSON as a text. Get the approval by its id for all of it',
    ),
});
export type ListedApproval = z.infer<typeof ListedApproval>;

/** What is kept with the hook: of a tool, what is asked of it too. */
export type AskedDetail = Brief & { title: string; payload?: unknown; expiresAt?: number | null; askedBy?: string } & (
    | ToolApproval
    | HeldApproval
    | { source?: 'workflow'; inputSchema?: JsonSchema }
  );

export function readDetail({ detail }: HookRow): AskedDetail {
  return decode(detail ?? '1[{}]') as AskedDetail;
}

export function sourceOf({ source = 'workflow' }: AskedDetail): ApprovalSource {
  return source;
}

export function toApproval({ hook, first, sessionId }: HookEntry): Approval {
  const asked = readDetail(hook);
  const { title, payload, expiresAt } = asked;
  const answer = first && (decode(first.payload) as ApprovalEvent);
  const decided = first && answer ? [{ at: toIso(first.at), action: toAction(asked, answer), by: answer.by }] : [];
  return {
    approvalId: hook.token,
    source: sourceOf(asked),
    runId: hook.runId,
    sessionId,
    title,
    payload: toJsonValue(payload),
    status: statusOf(hook, answer),
    decision: answer?.decision ?? null,
    note: answer?.note ?? null,
    decidedBy: answer?.by ?? null,
    allow: isOfCall(asked) || isOfText(asked) ? [...asked.allow] : null,
    by: (isOfCall(asked) && asked.by) || 'operator',
    approvers: (isOfCall(asked) && asked.approvers && [...asked.approvers]) || null,
    argsDigest: isOfCall(asked) ? digestArguments(toArguments(payload)) : null,
    description: ((isOfCall(asked) || isOfText(asked)) && asked.description) || null,
    createdAt: toIso(hook.createdAt),
    expiresAt: expiresAt ? toIso(expiresAt) : null,
    audit: [{ at: toIso(hook.createdAt), action: 'asked', by: null }, ...decided],
  };
}

/** What a model reads in the place of a text that waits. */
export const WITHHELD =
  'A guardrail holds this text. A person reads it in the inbox of approvals and in its run; a model does not before it is approved.';

/** What a model may read of it. */
export function toRead(entry: HookEntry, isForModel: boolean | undefined): HookEntry {
  const { hook, first } = entry;
  const asked = readDetail(hook);
  const isPassed = first !== undefined && (decode(first.payload) as ApprovalEvent).decision === 'approve';
  if (!isForModel || isPassed || !isOfText(asked)) return entry;
  const { cutPayload: _cut, ...rest } = asked;
  return { ...entry, hook: { ...hook, detail: encode({ ...rest, payload: WITHHELD }, 'detail') } };
}

export function toListed(entry: HookEntry): ListedApproval {
  const approval = toApproval(entry);
  const { cutPayload, argsDigest = null } = readDetail(entry.hook);
  if (cutPayload !== undefined) return { ...approval, payload: previewOf(cutPayload), argsDigest, cut: ['payload'] };
  // One that was asked for before lists had such beginnings.
  const preview = previewOfLarge(approval.payload);
  return preview === undefined ? { ...approval, cut: [] } : { ...approval, payload: preview, cut: ['payload'] };
}

export interface DetailOptions {
  journal: Pick<Journal, 'getRun'>;
  /** The JSON Schema of the arguments of a tool, as the agent of the run has it: the one it began with. Undefined: it is gone. */
  describeArguments(run: VersionedRun, tool: string): Promise<JsonSchema | undefined>;
}

export async function toDetail(
  entry: HookEntry,
  { journal, describeArguments }: DetailOptions,
): Promise<ApprovalDetail> {
  const [asked, approval] = [readDetail(entry.hook), toApproval(entry)];
  // What the copilot was given is for no one else to read.
  if (isOfText(asked) || isAskedByCopilot(asked)) return { ...approval, input: null, inputSchema: null };
  const input = entry.first ? toJsonValue((decode(entry.first.payload) as ApprovalEvent).input) : null;
  if (!isOfCall(asked)) return { ...approval, input, inputSchema: asked.inputSchema ?? null };
  const isOfUse = approval.status === 'pending' ? asked.allow.includes('edit') : input !== null;
  if (!isOfUse) return { ...approval, input, inputSchema: null };
  const { codeHash } = (await journal.getRun(entry.hook.runId)) ?? {};
  const inputSchema = (await describeArguments({ name: asked.agent, codeHash }, asked.tool)) ?? null;
  return { ...approval, input, inputSchema };
}

export function isAskedByCopilot(asked: AskedDetail): boolean {
  return isOfCall(asked) && isOfCopilot(asked.agent);
}

// --- internal ---

/** What lists read of one whose payload is too large: `cutPayload` is the beginning of it, as it is recorded. */
interface Brief {
  cutPayload?: string;
  argsDigest?: string;
}

function toAction(asked: AskedDetail, { timedOut, decision, input }: ApprovalEvent): string {
  if (timedOut) return 'expired';
  return isOfCall(asked) && decision === 'approve' && input !== null ? 'edit' : decision;
}

/** As whoever decides is shown them. */
function toArguments(payload: unknown): unknown {
  return (toJsonValue(payload) as { arguments?: unknown } | null)?.arguments;
}

function statusOf(hook: HookRow, answer: ApprovalEvent | undefined): ApprovalStatus {
  if (answer?.timedOut) return 'expired';
  if (answer) return answer.decision === 'approve' ? 'approved' : 'rejected';
  return hook.isOpen ? 'pending' : 'cancelled';
}
