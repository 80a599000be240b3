import type { Replayed, ReplayedCall } from '@svc/runtime/host';
import { toPlainText } from '../../terminal/style.ts';
import type { Style } from '../../terminal/style.ts';
import { wrapText } from '../../terminal/wrap.ts';
import type { History } from './history.ts';

/** `#2 step charge({"amount":5}) → "paid"  workflows/order.workflow.ts:12` */
export function formatCall(call: ReplayedCall): string {
  const { error, output, attempts, kind, at } = call;
  const answer = error ? `failed: ${error.message}` : cutText(JSON.stringify(output) ?? 'nothing');
  const tries = attempts === 0 ? '' : ` (attempt ${attempts + 1})`;
  return toPlainText(`#${call.call} ${kind} ${formatAsked(call)}${tries} → ${answer}${at === null ? '' : `  ${at}`}`);
}

export interface Printed {
  replayed: Replayed;
  promoted: string | null;
  /** The steps have been printed. */
  isLive: boolean;
}

export function formatReplayed(history: History, { replayed, promoted, isLive }: Printed, style: Style): string {
  const { run, masked } = history;
  const steps = isLive ? [] : replayed.calls.map((call) => wrapText(formatCall(call), style));
  const note = masked.length > 0 ? [style.dim('Secrets in this history are masked: __masked_1__ and so on.')] : [];
  const written = promoted === null ? [] : [`${style.green('Written')} ${promoted}`];
  const title = `${style.bold(toPlainText(run.name))}  ${style.dim(`run ${run.runId}, ${run.status}`)}`;
  return [title, ...steps, ...note, '', ...formatOutcome(history, replayed, style), ...written].join('\n');
}

// --- internal ---

const LONGEST = 200;

function formatOutcome(
  { run }: History,
  { outcome, difference, ended, next, calls }: Replayed,
  style: Style,
): string[] {
  if (difference)
    return [
      `${style.red('The code differs:')} ${toPlainText(difference.message)}`,
      ...(difference.at === null ? [] : [`  at    ${toPlainText(difference.at)}`]),
      `  then  ${toPlainText(cutText(JSON.stringify(difference.was) ?? 'nothing'))}`,
      `  now   ${toPlainText(cutText(JSON.stringify(difference.is) ?? 'nothing'))}`,
    ];
  if (outcome === 'same') {
    const how = ended?.error ? `failed: ${ended.error.message}` : cutText(JSON.stringify(ended?.output) ?? 'nothing');
    return [`${style.green('The same:')} the code ends as the run did. ${toPlainText(how)}`];
  }
  if (outcome === 'open')
    return [
      `The history ends here: the run is ${run.status}. The code would go on with, and nothing of it was done:`,
      ...next.map(
        (call) => `  ${toPlainText(`${call.kind} ${formatAsked(call)}${call.at === null ? '' : `  ${call.at}`}`)}`,
      ),
    ];
  if (outcome === 'stopped') return [`Stopped after call ${calls.at(-1)?.call}, as --until says.`];
  return [`${style.red('Stuck:')} the code waits for something that is not a step, a promise that nothing resolves.`];
}

function formatAsked({ name, input }: ReplayedCall): string {
  const args = (input as { args?: unknown } | null)?.args;
  const text = Array.isArray(args) ? args.map((arg) => JSON.stringify(arg)).join(', ') : (JSON.stringify(input) ?? '');
  return `${name}(${cutText(text)})`;
}

function cutText(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)} … (${text.length} characters)`;
}
