import { z } from 'zod';
import type { Agents } from '../../agents/agents.ts';
import type { RunningTurn } from '../../agents/reading/running-turn.ts';
import type { Approvals, Decider } from '../../approvals/approvals.ts';
import type { Decision } from '../../approvals/decision.ts';
import { toStartKey } from '../../agents/reading/repeats.ts';
import type { TurnKey } from '../../agents/turn/input.ts';
import type { RunRow } from '../../engine/journal/run.ts';
import { BoxError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { ResumeEntry, RunAgentInput } from './input.ts';

export interface ResumeOptions {
  agents: Agents;
  approvals: Approvals;
  log: Log;
}

export interface Resume {
  agent: string;
  input: Pick<RunAgentInput, 'threadId'>;
  entries: readonly ResumeEntry[];
  /** The turn of the thread that has not ended. */
  open: RunRow | undefined;
  /** The person the audit names. */
  by: string;
  /** The same key with the same decisions reads on in what they began. */
  key?: TurnKey;
}

/** The turn that goes on. */
export interface Resumed {
  run: RunRow;
  turn: RunningTurn;
}

/**
 * Decides what the thread waits for, and reads on. Only tool calls of the thread's own turn, and of its sub-agents, can be decided so. An entry
 * that names none is ignored: a person has decided elsewhere, or its time was up. Undefined: no turn is under way.
 * Throws `approval_pending` when something would stay undecided, before anything is.
 */
export async function resumeTurn(
  options: ResumeOptions,
  { entries, open, by, ...request }: Resume,
): Promise<Resumed | undefined> {
  const { agents, approvals, log } = options;
  const pending = open ? await agents.listPending(open) : [];
  const isPending = ({ interruptId }: ResumeEntry) => pending.includes(interruptId);
  const decider = { by, ...(request.key ? { idempotencyKey: toStartKey(request.key).idempotencyKey } : {}) };
  const decided = entries.some(isPending) ? undefined : await findDecided(options, { ...request, entries, decider });
  if (decided) return { run: decided, turn: await agents.follow(decided) };
  for (const entry of entries.filter((other) => !isPending(other))) warn(log, entry.interruptId, open?.runId);
  if (!open) return undefined;
  const decisions = entries.filter(isPending).map((entry) => ({ id: entry.interruptId, decision: toDecision(entry) }));
  refuseUncovered(pending, new Map(decisions.map(({ id, decision }) => [id, decision])), decisions.length);
  for (const { id, decision } of decisions) await approvals.check(id, decision);
  const turn = await agents.follow(open, pending);
  try {
    for (const { id, decision } of decisions)
      await approvals.decide(id, decision, decider).catch((error: unknown) => {
        if (!isDecidedElsewhere(error)) throw error;
        warn(log, id, open.runId);
      });
  } catch (error) {
    turn.leave();
    throw error;
  }
  return { run: open, turn };
}

// --- internal ---

const Payload = z.object({
  decision: z.enum(['approve', 'edit', 'reject']),
  note: z.string().max(10_000).optional(),
  input: z.unknown().optional(),
});

interface Decided extends Pick<Resume, 'agent' | 'input' | 'entries'> {
  decider: Decider;
}

/** The turn of the thread that these entries have decided about before, under the same key. */
async function findDecided(
  { agents, approvals }: ResumeOptions,
  { agent, input, entries, decider }: Decided,
): Promise<RunRow | undefined> {
  if (decider.idempotencyKey === undefined) return undefined;
  for (const entry of entries) {
    const approval = await approvals.find(entry.interruptId);
    const turn = approval?.source === 'tool' ? await agents.findTurn(agent, input.threadId, approval.runId) : undefined;
    if (!turn || approval?.status === 'pending') continue;
    const again = await approvals.decide(entry.interruptId, toDecision(entry), decider).catch((error: unknown) => {
      if (!isDecidedElsewhere(error)) throw error;
    });
    if (again) return turn;
  }
  return undefined;
}

/** Nothing is run that was not decided about in so many words. */
function toDecision({ interruptId, status, payload }: ResumeEntry): Decision {
  if (status === 'cancelled') return { decision: 'reject', note: 'The request was cancelled.' };
  const parsed = Payload.safeParse(payload);
  if (!parsed.success)
    throw invalid(
      `The payload for interrupt "${interruptId}" must be {"decision": "approve" | "edit" | "reject"}, with "input" for edited arguments.`,
      { issues: parsed.error.issues.map(({ path, message }) => ({ path: ['resume', 'payload', ...path], message })) },
    );
  const { decision, note, input } = parsed.data;
  if (decision === 'edit' && (input === undefined || input === null))
    throw invalid(`The payload for interrupt "${interruptId}" is an edit without "input".`);
  return {
    decision: decision === 'edit' ? 'approve' : decision,
    ...(note === undefined ? {} : { note }),
    ...(input === undefined || decision === 'reject' ? {} : { input }),
  };
}

function refuseUncovered(pending: readonly string[], decided: ReadonlyMap<string, Decision>, entries: number): void {
  if (decided.size < entries) throw invalid('"resume" answers an interrupt twice.');
  const uncovered = pending.filter((id) => !decided.has(id));
  if (uncovered.length === 0) return;
  throw new BoxError(
    'approval_pending',
    `A tool call of this thread waits for a person, and "resume" does not answer it: ${uncovered.join(', ')}.`,
    { details: { interruptIds: uncovered } },
  );
}

function isDecidedElsewhere(error: unknown): boolean {
  return error instanceof BoxError && (error.code === 'already_decided' || error.code === 'approval_closed');
}

function warn(log: Log, interruptId: string, runId: string | undefined): void {
  log.warn('A resume names an interrupt that does not wait any more. It is ignored.', { interruptId, runId });
}

function invalid(message: string, details: Record<string, unknown> = {}): BoxError {
  return new BoxError('invalid_request', message, { details: { param: 'resume', ...details } });
}
