import { formatValue, formatWhen } from '../terminal/format.ts';
import { toPlainText } from '../terminal/style.ts';
import type { Style } from '../terminal/style.ts';
import type { Row } from './row.ts';
import { formatCell, paintState } from './columns.ts';

/** One thing in full: a title, a line for each plain member, then what takes more than a line. */
export function formatCard(row: Row, style: Style, now: number = Date.now()): string {
  const shown = Object.entries(row).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const facts = shown.filter(([, value]) => !isLong(value));
  const sections = shown.filter(([, value]) => isLong(value) && !isEmpty(value));
  const width = Math.max(0, ...facts.map(([name]) => toLabel(name).length));
  return [
    ...facts.map(
      ([name, value]) => `${style.dim(toLabel(name).padEnd(width))}  ${formatFact(name, value, style, now)}`,
    ),
    ...sections.map(([name, value]) => `\n${style.bold(toLabel(name))}\n${toPlainText(formatValue(value))}`),
  ].join('\n');
}

/** `createdAt` as `created at`. */
export function toLabel(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

// --- internal ---

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

function formatFact(name: string, value: unknown, style: Style, now: number): string {
  if (typeof value === 'string' && TIME.test(value)) return `${value} (${formatWhen(value, now)})`;
  const text = toPlainText(formatCell(value));
  return name === 'status' ? paintState(text, text, style) : text;
}

function isLong(value: unknown): boolean {
  return typeof value === 'object' || (typeof value === 'string' && value.includes('\n'));
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
