import { usageError } from '../errors.ts';
import { constant, extend, itemOf, object, oneOf, union } from '../payload/payload.ts';
import { toPlainText } from '../terminal/style.ts';
import type { Style } from '../terminal/style.ts';
import type { Row } from './row.ts';
import { paintLevel } from './columns.ts';
import type { StreamForm } from './stream.ts';

/** With a run: from its first record to its end; without one: from now on. */
export const LOG_TAIL: StreamForm = {
  choose({ run, name, session, ...input }) {
    if (run === undefined) return undefined;
    const other = name === undefined ? (session === undefined ? undefined : '--session') : '--name';
    if (other) throw usageError(`--run and ${other} both say whose records they are.`, 'Leave one of them out.');
    return { operation: 'runs.logs_stream', input: { ...input, id: run } };
  },
  lines: union(
    extend(itemOf('logs.search'), { type: constant('log') }),
    object({ type: constant('reset', 'Records were missed while the box was away.') }),
  ),
  stderr: object({
    type: constant('connection'),
    state: oneOf(['lost', 'open'], 'lost: the box is away, and is tried again; open: it answers again.'),
  }),
  human(event, data, style) {
    if (event === 'reset') return style.dim('Records were missed while the box was away.');
    return event === 'log' ? formatRecord(data, style) : undefined;
  },
};

// --- internal ---

const LEVEL_WIDTH = 5;

function formatRecord({ at, level, name, step, message, fields }: Row, style: Style): string {
  const who = [name, step].filter(Boolean).map(String).join('/');
  const head = [style.dim(String(at)), paintLevel(String(level).padEnd(LEVEL_WIDTH), String(level), style)];
  const text = toPlainText(String(message)).replaceAll('\n', '\n  ');
  const rest = Object.entries(Object(fields) as Row).map(([key, value]) => style.dim(formatField(key, value)));
  return [...head, ...(who === '' ? [] : [style.bold(toPlainText(who))]), text, ...rest].join(' ');
}

/** `amount=5`; of an error its message. The stack and the like are in --json. */
function formatField(key: string, value: unknown): string {
  const { message } = Object(value) as Row;
  const shown = key === 'error' && typeof message === 'string' ? message : value;
  const text = typeof shown === 'string' && /^[^\s"=]+$/.test(shown) ? shown : JSON.stringify(shown);
  return toPlainText(`${key}=${text}`);
}
