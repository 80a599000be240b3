import type { Journal } from '../engine/journal.ts';
import { BoxError } from '../errors.ts';
import { fromJsonSchema } from '../schema/given-schema.ts';
import { parseWith } from '../schema/schema.ts';
import type { JsonSchema } from '../schema/schema.ts';
import type { VersionedRun } from '../versions/versions.ts';
import type { Decision } from './decision.ts';
import { isOfText } from './held-text.ts';
import type { HeldApproval } from './held-text.ts';
import { isOfCall } from './tool-approval.ts';
import type { ToolApproval } from './tool-approval.ts';

interface WorkflowApproval {
  title?: string;
  source?: 'workflow';
  inputSchema?: JsonSchema;
}

interface Checking {
  checkArguments(run: VersionedRun, tool: string, args: unknown): Promise<{ path: unknown[]; message: string }[]>;
  journal: Pick<Journal, 'getRun'>;
  /** That has asked. */
  runId: string;
}

/** Throws `invalid_request` when what was asked may not be decided so. */
export async function checkDecision(
  asked: ToolApproval | HeldApproval | WorkflowApproval,
  decision: Decision,
  checking: Checking,
): Promise<void> {
  if (isOfText(asked)) checkTextDecision(asked, decision);
  else if (isOfCall(asked)) await checkToolDecision(asked, decision, checking);
  else await checkWorkflowDecision(asked, decision);
}

// --- internal ---

/** Throws `invalid_request` when the tool does not allow the decision, or does not take the arguments it is given. */
async function checkToolDecision(
  { agent, tool, allow }: ToolApproval,
  { decision, input }: Decision,
  { checkArguments, journal, runId }: Checking,
): Promise<void> {
  const isEdit = decision === 'approve' && input !== undefined && input !== null;
  const wanted = isEdit ? 'edit' : decision;
  if (!allow.includes(wanted))
    throw new BoxError(
      'invalid_request',
      `A call of "${tool}" may not be decided with "${wanted}". Allowed: ${allow.join(', ') || 'nothing'}.`,
      { details: { allow } },
    );
  if (!isEdit) return;
  const { codeHash } = (await journal.getRun(runId)) ?? {};
  const issues = await checkArguments({ name: agent, codeHash }, tool, input);
  if (issues.length > 0)
    throw new BoxError('invalid_request', `"${tool}" does not take these arguments. ${issues[0]?.message ?? ''}`, {
      details: { issues },
    });
}

/** Throws `invalid_request` when a text that waits may not be decided so: it goes on as it is, or not at all. */
function checkTextDecision({ rule, allow }: HeldApproval, { input }: Decision): void {
  if (input === undefined || input === null) return;
  const message = `What the guardrail "${rule}" holds goes on as it is, or not at all. Decide without "input".`;
  throw new BoxError('invalid_request', message, { details: { allow } });
}

/** Throws `invalid_request` when what is given with the decision is not what the workflow has asked for. */
async function checkWorkflowDecision({ title, inputSchema }: WorkflowApproval, { input }: Decision): Promise<void> {
  if (inputSchema === undefined || input === undefined || input === null) return;
  const parsed = await parseWith(await fromJsonSchema(inputSchema), input);
  if (parsed.ok) return;
  const message = `"${title}" does not take this input. ${parsed.issues[0]?.message ?? ''}`.trimEnd();
  throw new BoxError('invalid_request', message, { details: { issues: parsed.issues } });
}
