import { requirePermission } from '../../auth/caller.ts';
import type { Caller } from '../../auth/caller.ts';
import { requireApprover, toDecider } from '../../approvals/approvers.ts';
import type { Approval } from '../../approvals/approval.ts';
import type { Approvals } from '../../approvals/approvals.ts';
import type { Decider } from '../../approvals/approvers.ts';
import type { Decision } from '../../approvals/decision.ts';
import type { RunRow } from '../../engine/journal/run.ts';
import { BoxError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Agents } from '../agents.ts';
import { callsUndecided } from '../events/turn-errors.ts';
import { toStartKey } from '../reading/repeats.ts';
import type { RunningTurn } from '../reading/running-turn.ts';
import type { TurnKey } from '../turn/input.ts';
import type { SessionPlace } from '../turn/session-store.ts';

export interface AnswerOptions {
  agents: Agents;
  approvals: Approvals;
  log: Log;
  /** Called with what a client has decided. Never throws. */
  onDecided?(approval: Approval, by: Caller): Promise<void>;
}

/** What a client decides about a call that waits. */
export interface Answer {
  approvalId: string;
  /** Throws `invalid_request` for what is no decision. Not called where the answer is ignored. */
  toDecision(): Decision;
}

export interface Resume {
  /** The thread. */
  place: SessionPlace;
  answers: readonly Answer[];
  /** The turn of the thread that has not ended. */
  open: RunRow | undefined;
  /** Who decides. */
  by: Caller;
  /** The same key with the same decisions reads on in what they began. */
  key?: TurnKey;
}

/** The turn that goes on. */
export interface Resumed {
  run: RunRow;
  turn: RunningTurn;
}

/**
 * Decides what the thread waits for, and reads on. Only tool calls of the thread's own turn, and of its sub-agents, can be
 * decided so. An answer to what does not wait is ignored: a person has decided elsewhere, or its time was up. Undefined:
 * no turn is under way. Throws `approval_pending` when something would stay undecided, and what its limits refuse, before
 * anything is decided.
 */
export async function resumeTurn(
  options: AnswerOptions,
  { answers, open, by, ...request }: Resume,
): Promise<Resumed | undefined> {
  const { agents, approvals, log } = options;
  const pending = open ? await agents.listPending(open) : [];
  const isPending = ({ approvalId }: Answer) => pending.includes(approvalId);
  const decider = toDecider(by, request.key && toStartKey(request.key).idempotencyKey);
  const decided = answers.some(isPending) ? undefined : await findDecided(options, { ...request, answers, decider });
  if (decided) return { run: decided, turn: await agents.follow(decided) };
  for (const { approvalId } of answers.filter((answer) => !isPending(answer))) warn(log, approvalId, open?.runId);
  if (!open) return undefined;
  const decisions = answers.filter(isPending).map(({ approvalId: id, toDecision }) => ({ id, decision: toDecision() }));
  requireAll(
    pending,
    decisions.map(({ id }) => id),
  );
  for (const { id } of decisions) requireDecider(by, await approvals.find(id));
  for (const { id, decision } of decisions) await approvals.check(id, decision, by);
  await agents.requireRoom(open, by);
  const turn = await agents.follow(open, pending);
  try {
    for (const { id, decision } of decisions)
      await approvals
        .decide(id, decision, decider)
        .then((approval) => options.onDecided?.(approval, by))
        .catch((error: unknown) => {
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

interface Decided extends Pick<Resume, 'place' | 'answers'> {
  decider: Decider;
}

/** The turn of the thread that these answers have decided about before, under the same key. */
async function findDecided(
  { agents, approvals }: AnswerOptions,
  { place, answers, decider }: Decided,
): Promise<RunRow | undefined> {
  if (decider.idempotencyKey === undefined) return undefined;
  for (const { approvalId, toDecision } of answers) {
    const approval = await approvals.find(approvalId);
    const turn = approval && approval.source !== 'workflow' ? await agents.findTurn(place, approval.runId) : undefined;
    if (!turn || approval?.status === 'pending') continue;
    const again = await approvals.decide(approvalId, toDecision(), decider).catch((error: unknown) => {
      if (!isDecidedElsewhere(error)) throw error;
    });
    if (again) return turn;
  }
  return undefined;
}

/** Whose conversation it is decides what is left to them; about the rest, who has a seat that decides. */
function requireDecider(by: Caller, approval: Approval | undefined): void {
  if (approval?.by === 'user') return;
  if (by.role !== null) {
    requirePermission(by, 'hitl:decide');
    return requireApprover(approval?.approvers, by);
  }
  throw new BoxError('decision_not_yours', 'An operator decides about this call. It waits until one has.', {
    details: { interruptId: approval?.approvalId ?? null },
  });
}

/** Each that waits is decided about, once. */
function requireAll(pending: readonly string[], decided: readonly string[]): void {
  if (new Set(decided).size < decided.length)
    throw new BoxError('invalid_request', '"resume" answers an interrupt twice.', { details: { param: 'resume' } });
  const undecided = pending.filter((id) => !decided.includes(id));
  if (undecided.length > 0) throw callsUndecided(undecided);
}

function isDecidedElsewhere(error: unknown): boolean {
  return error instanceof BoxError && (error.code === 'already_decided' || error.code === 'approval_closed');
}

function warn(log: Log, interruptId: string, runId: string | undefined): void {
  log.warn('A resume names an interrupt that does not wait any more. It is ignored.', { interruptId, runId });
}
