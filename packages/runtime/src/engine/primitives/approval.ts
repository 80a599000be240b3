import { askedByOf } from '../box-marks.ts';
import type { ListedBeside } from '../call.ts';
import type { RunHandle } from '../handle.ts';
import { awaitEvent, bodyOf } from './hook.ts';

export interface ApprovalRequest {
  /** What is to be decided, one sentence. */
  title: string;
  /** What the person needs to see. */
  payload?: unknown;
  /**
   * The JSON Schema of what they may give with a yes, which is `input` of the answer: they get a form of it, and what does not
   * fit is refused. Default: anything.
   */
  inputSchema?: Record<string, unknown>;
  /** After this time `fallback` decides, which `engine/run/waits.ts` sees to. Default: it waits for ever. */
  timeout?: number | string | Date;
  /** Default `reject`. */
  fallback?: 'approve' | 'reject';
}

/** What was decided, and by which person. */
export interface ApprovalAnswer {
  approved: boolean;
  decision: 'approve' | 'reject';
  /** Who decided; null when the time was up. */
  by: string | null;
  note: string | null;
  /** What the person changed or added; null when nothing. */
  input: unknown;
  timedOut: boolean;
}

/** What resumes an approval's hook. */
export type ApprovalEvent = Omit<ApprovalAnswer, 'approved'>;

/** Parks the run until a person decides, over the API or in the inbox. Works in a workflow body only. */
export async function requestApproval(request: ApprovalRequest): Promise<ApprovalAnswer> {
  const { title, inputSchema } = request;
  if (typeof title !== 'string' || title === '') throw new TypeError('requestApproval() needs a title.');
  if (inputSchema !== undefined && (typeof inputSchema !== 'object' || inputSchema === null || '_def' in inputSchema))
    throw new TypeError('"inputSchema" of requestApproval() is a JSON Schema, such as z.toJSONSchema() makes.');
  return askPerson(bodyOf('requestApproval'), request).answer;
}

/** An approval that has been asked for. */
export interface AskedApproval {
  /** The id of the approval. */
  token: string;
  /** Milliseconds since 1970; null: it waits for ever. */
  expiresAt: number | null;
  answer: Promise<ApprovalAnswer>;
}

/** @param request `detail`: what else is kept with the approval; `beside`: what lists show of a payload that is too large */
export function askPerson(
  execution: RunHandle,
  request: ApprovalRequest & { detail?: object; beside?: ListedBeside },
): AskedApproval {
  const { title, payload, inputSchema, timeout, fallback = 'reject', detail = {}, beside } = request;
  const limit = timeout === undefined ? {} : { timeout };
  const askedBy = askedByOf(execution.run);
  const marks = askedBy === undefined ? {} : { askedBy };
  const asked = { title, payload, ...(inputSchema === undefined ? {} : { inputSchema }), ...detail, ...marks };
  const hook = execution.openHook({ kind: 'approval', token: null, detail: asked, ...limit }, beside);
  const { token, expiresAt } = hook;
  const expired: ApprovalEvent = { decision: fallback, by: null, note: null, input: null, timedOut: true };
  const deadline =
    expiresAt === null ? {} : { deadline: { wakeAt: () => expiresAt, payload: expired, verdict: 'expired' } };
  const answer = awaitEvent(execution, { kind: 'approval', token, n: 0, since: 0, title, ...deadline }).then(
    (event) => ({
      approved: (event as ApprovalEvent).decision === 'approve',
      ...(event as ApprovalEvent),
    }),
  );
  return { token, expiresAt, answer };
}
