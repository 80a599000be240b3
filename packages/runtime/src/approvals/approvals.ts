import type { Caller } from '../auth/caller.ts';
import { hiddenFrom, isKept } from '../auth/visibility.ts';
import type { Hidden } from '../auth/visibility.ts';
import type { ApprovalEvent } from '../engine/primitives/approval.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { HookEntry, HookFilter, HookPlace, ResumeOptions } from '../engine/journal/hooks.ts';
import { digestOf, encode } from '../engine/serialize.ts';
import { isSameCaller, listModelCallers, startedByOf } from '../engine/started-by.ts';
import type { StartedBy } from '../engine/started-by.ts';
import { BoxError, idempotencyConflict } from '../errors.ts';
import { withoutUndefined } from '../operations/inputs.ts';
import type { Issue } from '../schema/schema.ts';
import { parseApprovalCursor, toApprovalCursor } from './cursor.ts';
import { isAskedByCopilot, readDetail, sourceOf, toApproval, toDetail, toListed, toRead } from './approval.ts';
import type {
  Approval,
  ApprovalDetail,
  ApprovalSource,
  ApprovalStatus,
  AskedDetail,
  DetailOptions,
  ListedApproval,
} from './approval.ts';
import { isOfCall } from './tool-approval.ts';
import type { HideArguments } from './tool-approval.ts';
import { requireApprover, requireShown } from './approvers.ts';
import { toDecisionHit } from './decision-hit.ts';
import type { Decider } from './approvers.ts';
import type { Decision } from './decision.ts';
import type { VersionedRun } from '../versions/versions.ts';
import { checkDecision } from './tool-decision.ts';
import { judgeDecision } from './user-decision.ts';
import type { DecisionGuardrails } from './user-decision.ts';

export interface ApprovalFilter {
  status?: ApprovalStatus;
  source?: ApprovalSource;
  runId?: string;
  /** The application that had the runs started which ask, and those of its users. */
  client?: string;
  user?: string;
  /** Without approvals of the copilot: those are for the person it talks to, and for no inbox. */
  isInbox?: true;
}

export interface ApprovalPage {
  items: ListedApproval[];
  /** Pass it as `cursor` for the next page; null: there is none. */
  nextCursor: string | null;
}

/** The approvals of the journal: a hook of a run, and the one resume it gets. */
export interface Approvals {
  /** Pending first, then the newest. Throws `invalid_cursor`. */
  list(filter: ApprovalFilter, page: { limit: number; cursor?: string }): Promise<ApprovalPage>;
  find(approvalId: string): Promise<Approval | undefined>;
  /** With what may be given with the decision, and what was. */
  findDetail(approvalId: string): Promise<ApprovalDetail | undefined>;
  /**
   * Throws `invalid_request` when this may not be decided, whether it has been decided before or not, and
   * `agent_guardrail_blocked` when a rule refuses what a user says of a call.
   */
  check(approvalId: string, decision: Decision, who: Caller): Promise<void>;
  /**
   * Throws what `check` throws, `decision_not_yours`, `not_an_approver`, `arguments_changed`, `approval_closed` once its time is up,
   * `already_decided` with the first decision, and `idempotency_conflict`.
   */
  decide(approvalId: string, decision: Decision, decider: Decider): Promise<Approval>;
  /** The same without those of runs that are hidden: such an approval is none. */
  without(hidden: Hidden): Approvals;
  /** The same for a model to read: without a text that a guardrail holds, as long as it has not been approved. */
  forModel(): Approvals;
}

export interface ApprovalsOptions extends DetailOptions {
  journal: Journal;
  engine: Engine;
  /** What is wrong with arguments for a tool, as the agent of the run has it: the one it began with. */
  checkArguments(run: VersionedRun, tool: string, args: unknown): Promise<Issue[]>;
  /** What is recorded of the arguments of the copilot's calls. Default: all. */
  hideArguments?: HideArguments | undefined;
  hidden?: Hidden;
  /** What is read is read by a model. */
  isForModel?: boolean;
  /** What users say of a call is judged by them, and what was decided about what they hold is a hit. */
  guardrails: DecisionGuardrails;
}

export function createApprovals(options: ApprovalsOptions): Approvals {
  const { journal, engine, hideArguments, hidden, isForModel, guardrails } = options;
  const { hooks } = journal;
  const find = async (approvalId: string): Promise<HookEntry | undefined> => {
    // An open hook first: a retry asks again under the id its run before had.
    const hook = await hooks.find(approvalId);
    if (hook?.kind !== 'approval' || isKept(readDetail(hook).askedBy, hidden)) return undefined;
    const { token, runId } = hook;
    return (await hooks.listEntries({ kind: 'approval', token, runId }, { limit: 1 }))[0];
  };
  const get = async (approvalId: string): Promise<HookEntry> => {
    const entry = await find(approvalId);
    if (!entry) throw new BoxError('approval_not_found', `There is no approval "${approvalId}".`);
    return entry;
  };
  const check = ({ hook }: HookEntry, decision: Decision): Promise<void> =>
    checkDecision(readDetail(hook), decision, { ...options, runId: hook.runId });
  const judge = ({ hook, first }: HookEntry, decision: Decision, how: { who: Caller; isFinal: boolean }) =>
    judgeDecision(
      options,
      { asked: readDetail(hook), runId: hook.runId, isDecided: first !== undefined },
      decision,
      how,
    );
  /**
   * What the copilot waits for is decided by the person it asks, a yes with the role it calls with. Who sees the conversations
   * of all may say no there.
   */
  const requireAsker = async ({ hook }: HookEntry, decision: Decision['decision'], who: Caller): Promise<void> => {
    const asked = readDetail(hook);
    if (!isAskedByCopilot(asked) || asked.askedBy === undefined) return;
    if (decision === 'reject' && !isKept(asked.askedBy, hiddenFrom(who))) return;
    if (asked.askedBy !== who.id)
      throw new BoxError('decision_not_yours', 'The person who asked the copilot decides about what it waits for.');
    const run = await journal.getRun(hook.runId);
    if (run && startedByOf(run)?.role !== who.role)
      throw new BoxError('decision_not_yours', 'Your role has changed since you asked. Reject it, and ask again.');
  };
  /** What a person changes about a call of the copilot is recorded as the model's own arguments are. */
  const toRecorded = async ({ hook }: HookEntry, edited: unknown): Promise<unknown> => {
    const asked = readDetail(hook);
    if (edited === null || !hideArguments || !isOfCall(asked) || !isAskedByCopilot(asked)) return edited;
    const run = await journal.getRun(hook.runId);
    return run ? (JSON.parse(await hideArguments(asked.tool, JSON.stringify(edited), run)) as unknown) : edited;
  };
  /** The next entries of these sources, up to `limit`. */
  const listOf = async (
    wanted: Pick<ApprovalFilter, 'source' | 'isInbox'>,
    filter: HookFilter,
    page: { limit: number; after?: HookPlace },
  ): Promise<HookEntry[]> => {
    const found: HookEntry[] = [];
    let { after } = page;
    for (;;) {
      const entries = await hooks.listBriefEntries(filter, { limit: page.limit, ...(after ? { after } : {}) });
      found.push(...entries.filter(({ hook }) => isListed(readDetail(hook), wanted, hidden)));
      if (entries.length < page.limit || found.length >= page.limit) return found.slice(0, page.limit);
      after = entries.at(-1)?.hook;
    }
  };
  return {
    async list({ status, runId, client, user, ...wanted }, { limit, cursor }) {
      const start = cursor === undefined ? { part: 0 } : parseApprovalCursor(cursor);
      const parts = partsOf(status);
      const found: { part: number; entry: HookEntry }[] = [];
      for (let part = start.part; part < parts.length && found.length <= limit; part++) {
        const filter = { kind: 'approval', ...withoutUndefined({ runId, client, user }), ...parts[part] } as const;
        const after = part === start.part && start.after ? { after: start.after } : {};
        const entries = await listOf(wanted, filter, { limit: limit + 1 - found.length, ...after });
        found.push(...entries.map((entry) => ({ part, entry })));
      }
      const shown = found.slice(0, limit);
      const last = found.length > limit ? shown.at(-1) : undefined;
      return {
        items: shown.map(({ entry }) => toListed(toRead(entry, isForModel))),
        nextCursor: last ? toApprovalCursor(last.part, last.entry.hook) : null,
      };
    },
    async find(approvalId) {
      const entry = await find(approvalId);
      return entry && toApproval(toRead(entry, isForModel));
    },
    findDetail: (approvalId) => find(approvalId).then((entry) => entry && toDetail(toRead(entry, isForModel), options)),
    async check(approvalId, decision, who) {
      const entry = await get(approvalId);
      await check(entry, decision);
      await judge(entry, decision, { who, isFinal: false });
    },
    async decide(approvalId, { argsDigest, ...said }, { by, who, idempotencyKey: key, byModel }) {
      const entry = await get(approvalId);
      if (byModel) await requireOther(journal, entry, byModel);
      await requireAsker(entry, said.decision, who);
      const shown = toApproval(entry);
      requireApprover(shown.approvers, who);
      requireShown(argsDigest, shown.argsDigest);
      // Too late is the answer whatever the body is.
      if (!entry.first) {
        requireTime(shown.expiresAt, engine.clock.now());
        await check(entry, said);
      }
      const given = await judge(entry, said, { who, isFinal: true });
      const { decision, note = null } = given;
      const input = await toRecorded(entry, given.input ?? null);
      const event: ApprovalEvent = { decision, by, note, input, timedOut: false };
      const how: ResumeOptions = { verdict: VERDICTS[decision], ...toKeyed(key, { decision, note, input }) };
      const result = await engine.resumeHook(approvalId, event, how);
      if (result?.outcome === 'idempotency_conflict') throw idempotencyConflict(key);
      if (!result || result.outcome === 'closed' || result.outcome === 'full')
        throw new BoxError('approval_closed', 'The run that asked has ended; nothing is left to decide.');
      const decided = { ...entry, hook: result.hook, first: result.event };
      const approval = toApproval(toRead(decided, isForModel || byModel !== undefined));
      if (result.outcome === 'already') throw alreadyDecided(approval);
      if (result.outcome === 'resumed') guardrails.record(...toDecisionHit(readDetail(entry.hook), approval));
      return approval;
    },
    without: (more) => createApprovals({ ...options, hidden: more }),
    forModel: () => createApprovals({ ...options, isForModel: true }),
  };
}

export function alreadyDecided(approval: Approval): BoxError {
  const { decision, decidedBy, note, status } = approval;
  const who = status === 'expired' ? 'its deadline' : `"${decidedBy}"`;
  return new BoxError('already_decided', `This was decided before, by ${who}: ${decision}.`, {
    details: { decision, decidedBy, note, status },
  });
}

// --- internal ---

/** Throws `decision_not_yours` where a model would decide about what its caller has caused. */
async function requireOther(journal: Pick<Journal, 'getRun'>, { hook }: HookEntry, caller: StartedBy): Promise<void> {
  if (isAskedByCopilot(readDetail(hook)))
    throw new BoxError('decision_not_yours', 'What the copilot waits for is decided in its panel, by no model.', {
      details: { runId: hook.runId },
    });
  const run = await journal.getRun(hook.runId);
  if (!listModelCallers(run && startedByOf(run)).some((one) => isSameCaller(one, caller))) return;
  throw new BoxError(
    'decision_not_yours',
    'You started this through a model, or armed the timer that did, so it is not decided there. Decide it in the dashboard, with `svc hitl`, or ask another person.',
    { details: { runId: hook.runId } },
  );
}

/** What the decision is that may be sent again under the key. */
function toKeyed(
  key: string | undefined,
  { input, ...decided }: Pick<ApprovalEvent, 'decision' | 'note' | 'input'>,
): Pick<ResumeOptions, 'idempotency'> {
  if (key === undefined) return {};
  return { idempotency: { key, digest: digestOf(encode({ ...decided, input: withoutSealed(input) }, 'body')) } };
}

const VERDICTS = { approve: 'approved', reject: 'rejected' } as const;

/** No process may have been there to say so when its time was up. */
function requireTime(expiresAt: string | null, now: number): void {
  if (expiresAt === null || now < Date.parse(expiresAt)) return;
  const message = `The approval expired at ${expiresAt}: what its code says for a timeout applies.`;
  throw new BoxError('approval_closed', message, { details: { expiresAt } });
}

/** What is read one after the other: the pending ones, then the rest. */
function partsOf(status: ApprovalStatus | undefined): Omit<HookFilter, 'kind'>[] {
  if (status === undefined) return [{ isPending: true }, { isPending: false }];
  if (status === 'pending') return [{ isPending: true }];
  return [status === 'cancelled' ? { isCancelled: true } : { verdict: status }];
}

function isListed(
  asked: AskedDetail,
  { source, isInbox }: Pick<ApprovalFilter, 'source' | 'isInbox'>,
  hidden: Hidden,
): boolean {
  if (isKept(asked.askedBy, hidden)) return false;
  if (isInbox && isAskedByCopilot(asked)) return false;
  return source === undefined || sourceOf(asked) === source;
}

/** Each time it is sealed it is another text. */
function withoutSealed(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || !('sealed' in input)) return input;
  const { sealed: _sealed, ...rest } = input;
  return rest;
}
