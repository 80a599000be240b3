import { createHash } from 'node:crypto';
import type { Approvals } from '../approvals/approvals.ts';
import { askedByOf } from '../engine/box-marks.ts';
import type { Journal } from '../engine/journal.ts';
import type { NewDelivery, Notice } from '../engine/journal/notices.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { toIso } from '../json-value.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import type { Mask } from '../mask.ts';
import { toCodeStop, toStoppedRun } from '../runs/stopped.ts';
import type { NotifyEvent, Receiver } from './config.ts';

/** What a receiver is posted. */
export interface Message {
  type: NotifyEvent;
  /** When it came to be: ISO 8601. */
  timestamp: string;
  data: Record<string, unknown>;
}

export interface MessageSources {
  journal: Pick<Journal, 'getRun'>;
  approvals: Pick<Approvals, 'find'>;
  mask: Mask;
  /** The address of the box. */
  url(): string;
}

/** The message of a notice. Undefined: its run is gone, or is not for everyone. */
export async function findMessage(notice: Notice, sources: MessageSources): Promise<Message | undefined> {
  const run = await sources.journal.getRun(notice.runId);
  if (!run || askedByOf(run) !== undefined || run.name === COPILOT_AGENT) return undefined;
  const timestamp = new Date(notice.at).toISOString();
  if (notice.topic === 'approval.asked') {
    const data = await describeApproval(notice, run, sources);
    return data && { type: notice.topic, timestamp, data };
  }
  const describe = notice.topic === 'run.waiting_for_code' ? describeCodeWait : describeStop;
  const { type, data } = describe(notice, run, sources);
  return { type, timestamp, data };
}

/** The deliveries of a message: one to each receiver that wants it. Their ids follow from the notice. */
export function toDeliveries(notice: Notice, message: Message, receivers: readonly Receiver[]): NewDelivery[] {
  const body = JSON.stringify(message);
  const { runId, mark } = notice;
  const { type, data } = message;
  const wanting = receivers.filter(
    ({ events, workflows }) => events.includes(type) && (workflows?.includes(String(data.name)) ?? true),
  );
  return wanting.map(({ name }) => {
    const deliveryId = `msg_${digestOf([runId, type, mark, name])}`;
    return { deliveryId, receiver: name, type, runId, body };
  });
}

// --- internal ---

/** Without a dot, which separates what is signed. */
function digestOf(parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 27);
}

function factsOf({ runId, kind, name, trigger, sessionId, createdAt }: RunRow, url: string): Record<string, unknown> {
  return { runId, kind, name, trigger, sessionId, createdAt: toIso(createdAt), url: `${url}/api/runs/${runId}` };
}

function describeStop(notice: Notice, run: RunRow, { mask, url }: MessageSources) {
  const facts = factsOf(run, url());
  const stopped = toStoppedRun(run, mask);
  // It has been resumed since: what was noted is sent all the same.
  if (!stopped) return { type: 'run.blocked' as const, data: { ...facts, status: 'blocked', error: null } };
  const { status, code, message } = stopped;
  const type = status === 'blocked' || notice.topic === 'run.blocked' ? 'run.blocked' : typeOf(code);
  const endedAt = run.endedAt === null ? null : toIso(run.endedAt);
  return { type, data: { ...facts, status, error: { code, message }, endedAt } } as const;
}

function describeCodeWait(_: Notice, run: RunRow, { mask, url }: MessageSources) {
  const stopped = toCodeStop(run, mask);
  // It may have its code by now: what was noted is sent all the same.
  const error = stopped ? { code: stopped.code, message: stopped.message } : null;
  const data = { ...factsOf(run, url()), status: 'waiting', error, endedAt: null };
  return { type: 'run.waiting_for_code', data } as const;
}

function typeOf(code: string): 'run.failed' | 'run.poisoned' {
  return code === 'run_poisoned' ? 'run.poisoned' : 'run.failed';
}

async function describeApproval({ mark }: Notice, run: RunRow, { approvals, mask, url }: MessageSources) {
  const approval = await approvals.find(mark);
  if (!approval) return undefined;
  const { approvalId, source, title, status, createdAt, expiresAt } = approval;
  const address = `${url()}/api/approvals/${approvalId}`;
  const facts = { approvalId, source, title: mask.text(title), status, createdAt, expiresAt, url: address };
  const { runId, kind, name, sessionId } = run;
  return { ...facts, runId, kind, name, sessionId };
}
