import { z } from 'zod';
import type { Answer } from '../../agents/threads/answers.ts';
import { Decision } from '../../approvals/decision.ts';
import { BoxError } from '../../errors.ts';
import { withoutUndefined } from '../../operations/inputs.ts';
import type { ResumeEntry } from './input.ts';

/** What a resume says, as threads take it. It is read when it is needed: an entry that is ignored may say anything. */
export function toAnswers(entries: readonly ResumeEntry[]): Answer[] {
  return entries.map((entry) => ({ approvalId: entry.interruptId, toDecision: () => toDecision(entry) }));
}

// --- internal ---

const Payload = z.object({
  decision: z.enum(['approve', 'edit', 'reject']),
  note: Decision.shape.note,
  argsDigest: Decision.shape.argsDigest,
  input: z.unknown().optional(),
});

/** Nothing is run that was not decided about in so many words. */
function toDecision({ interruptId, status, payload }: ResumeEntry): Decision {
  if (status === 'cancelled') return { decision: 'reject', note: 'The request was cancelled.' };
  const parsed = Payload.safeParse(payload);
  if (!parsed.success)
    throw invalid(
      `The payload for interrupt "${interruptId}" must be {"decision": "approve" | "edit" | "reject"}, with "input" for edited arguments.`,
      { issues: parsed.error.issues.map(({ path, message }) => ({ path: ['resume', 'payload', ...path], message })) },
    );
  const { decision, note, argsDigest, input } = parsed.data;
  if (decision === 'edit' && (input === undefined || input === null))
    throw invalid(`The payload for interrupt "${interruptId}" is an edit without "input".`);
  return {
    decision: decision === 'edit' ? 'approve' : decision,
    ...withoutUndefined({ note, argsDigest }),
    ...(input === undefined || decision === 'reject' ? {} : { input }),
  };
}

function invalid(message: string, details: Record<string, unknown> = {}): BoxError {
  return new BoxError('invalid_request', message, { details: { param: 'resume', ...details } });
}
