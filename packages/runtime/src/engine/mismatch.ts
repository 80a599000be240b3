import { relative } from 'node:path';
import { firstOf } from './call.ts';
import type { CallHistory } from './call.ts';
import { runOutside } from './context.ts';
import { isOwnFrame, readFrame } from './own-frames.ts';
import type { JournalRecord, StepKind } from './journal/record.ts';
import { differenceOf } from './values/difference.ts';
import type { Difference } from './values/difference.ts';
import { toText } from './values/text.ts';

/** Why a replay cannot go on: what the journal holds and what the code asked for instead. */
export interface Mismatch {
  message: string;
  recorded: string;
  called: string | null;
  call: number;
  /** The author's line that calls: `workflows/refund.workflow.ts:12`. Null: no line does, or it is not known. */
  at: string | null;
  /** Where the arguments differ, of a call that is the same but for them. */
  difference?: Difference;
}

/**
 * Compares a call with the journal; undefined: it is the same call, or a new one.
 * @param caller the line that calls, where it is not on the stack any more
 */
export function mismatchOf(
  history: CallHistory | undefined,
  request: { kind: StepKind; stepId: string; digest: string; input: string },
  caller?: string | null,
): Mismatch | undefined {
  const record = firstOf(history);
  if (!record) return undefined;
  const { call, stepId } = record;
  const isSameStep = stepId === request.stepId && record.kind === request.kind;
  if (isSameStep && record.digest === request.digest) return undefined;
  // The digest is of the text, which is quick; what differs in it need not be what the code has chosen.
  const difference = isSameStep && record.input !== null ? differenceOf(record.input, request.input) : undefined;
  if (isSameStep && record.input !== null && !difference) return undefined;
  const at = caller === undefined ? findCaller(request.stepId) : caller;
  const where = at === null ? '' : ` at ${at}`;
  const message = isSameStep
    ? `Call ${call}, "${stepId}", was recorded with other arguments than the code passes now${where}${inWords(difference)}.`
    : `Call ${call} of this run was recorded as "${stepId}"; the code now calls "${request.stepId}"${where}.`;
  const named = { message, recorded: stepId, called: request.stepId, call, at };
  return difference ? { ...named, difference } : named;
}

/** The journal answers a call the code did not make. */
export function undelivered(record: JournalRecord): Mismatch {
  return {
    message: `Call ${record.call} of this run was recorded as "${record.stepId}"; the code does not make it now.`,
    recorded: record.stepId,
    called: null,
    call: record.call,
    at: null,
  };
}

/** The first line on the stack that is neither the runtime's nor the step's own: a body calls its steps itself. */
export function findCaller(stepId: string): string | null {
  // Outside, because the stack may be mapped by source maps that are read from files.
  const stack = runOutside(() => new Error('here').stack ?? '');
  const step = stepId.slice(stepId.lastIndexOf('#') + 1);
  let own: string | null = null;
  for (const line of stack.split('\n').slice(1)) {
    const frame = readFrame(line);
    if (!frame || isOwnFrame(frame)) continue;
    const { file, row } = frame;
    const path = relative(process.cwd(), file);
    const found = `${path.startsWith('..') ? file : path}:${row}`;
    if (own !== null || !line.trim().startsWith(`at ${step} (`)) return found;
    own = found;
  }
  return own;
}

/** What is recorded cannot be given to the code: a class of it is gone. */
export function unreadable(record: JournalRecord, error: unknown): Mismatch {
  const { call, stepId } = record;
  const message = `The recorded answer of call ${call}, "${stepId}", cannot be read: ${toText(error)}`;
  return { message, recorded: stepId, called: stepId, call, at: null };
}

/** A value that has to be copied for the run to have cannot be. */
export function unrecordable(error: unknown): Mismatch {
  const message = `A value the run was given cannot be recorded: ${toText(error)}`;
  return { message, recorded: 'nothing', called: 'value', call: 0, at: null };
}

/** The same of what the run was started with. */
export function unreadableInput(error: unknown): Mismatch {
  const message = `The input of the run cannot be read: ${toText(error)}`;
  return { message, recorded: 'input', called: 'input', call: 0, at: null };
}

// --- internal ---

function inWords(difference: Difference | undefined): string {
  if (!difference) return '';
  const { path, recorded, called } = difference;
  return `: ${path === '' ? 'the value' : `"${path}"`} was ${recorded}, is ${called}`;
}
