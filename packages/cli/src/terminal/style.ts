import { stripVTControlCharacters } from 'node:util';
import type { Screen, Terminal } from './terminal.ts';

/** How a renderer may write to one stream. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  /** A filled or an empty diamond. */
  mark(filled: boolean): string;
  ellipsis: string;
  /** Width of the terminal; undefined when the stream is a pipe or a file. */
  columns: number | undefined;
}

/** `colour: false` is `--no-color`, which nothing overrules. */
export function createStyle(screen: Screen, env: Terminal['env'], options: { colour: boolean }): Style {
  const colour = options.colour && mayColour(screen, env);
  const utf8 = hasUtf8(env);
  const paint = (open: number, close: number) => (text: string) =>
    colour && text !== '' ? `\u001B[${open}m${text}\u001B[${close}m` : text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    mark: (filled) => (utf8 ? (filled ? '◆' : '◇') : filled ? '[x]' : '[ ]'),
    ellipsis: utf8 ? '…' : '...',
    columns: screen.isTTY ? screen.columns || Number(env.COLUMNS) || 80 : undefined,
  };
}

/**
 * Foreign text made harmless for a terminal: escape sequences and control characters become spaces.
 * Line breaks and tabs stay.
 */
export function toPlainText(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/[^\P{Cc}\n\t]/gu, ' ');
}

// --- internal ---

function mayColour(screen: Screen, env: Terminal['env']): boolean {
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  // An empty NO_COLOR counts as unset, as its convention says.
  if (env.NO_COLOR || env.TERM === 'dumb') return false;
  return screen.isTTY;
}

function hasUtf8(env: Terminal['env']): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG;
  if (!locale) return process.platform !== 'linux';
  return /utf-?8/i.test(locale);
}
