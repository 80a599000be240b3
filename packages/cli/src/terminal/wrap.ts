import { textWidth } from './width.ts';

export interface WrapOptions {
  /** Width of the terminal; undefined is a pipe, for which nothing is broken. */
  columns: number | undefined;
  /** How far the lines after the first are indented. */
  indent?: number;
  /** How much of the first line is taken already. */
  taken?: number;
}

/**
 * Text in lines no wider than the terminal. A command is never broken, because it is copied: what is in backticks,
 * and what follows `svc` at the end of a line. What is wider than a line stands in one of its own.
 */
export function wrapText(text: string, { columns, indent = 0, taken = 0 }: WrapOptions): string {
  if (columns === undefined) return text;
  return text
    .split('\n')
    .map((line, at) => {
      const before = at === 0 ? taken : 0;
      const stays = before + textWidth(line) <= columns || CODE_FRAME.test(line);
      return stays ? line : wrapLine(line, columns, { indent, taken: before });
    })
    .join('\n');
}

// --- internal ---

/** A line of a source file, shown where a problem is. */
const CODE_FRAME = /^\s*>?\s*\d*\s*\|/;
const TWO_COLUMNS = /^(\s*\S.*?) {2,}(\S.*)$/;
const COMMAND_OR_WORD = /\S*`[^`]*`\S*|(?<=: )(?:npx )?svc (?:(?!, |\. )[^`])*$|\S+/g;

function wrapLine(line: string, columns: number, { indent, taken }: { indent: number; taken: number }): string {
  const own = /^\s*/.exec(line)?.[0] ?? '';
  const [, left, right] = TWO_COLUMNS.exec(line) ?? [];
  // The second column of a list goes below the first.
  if (left !== undefined && right !== undefined)
    return wrapText(`${left}\n${own}    ${right}`, { columns, indent, taken });
  let lines = own;
  let width = taken + own.length;
  let isFirst = true;
  for (const word of line.match(COMMAND_OR_WORD) ?? []) {
    const more = textWidth(word);
    const fits = isFirst || width + 1 + more <= columns;
    lines += isFirst ? word : fits ? ` ${word}` : `\n${' '.repeat(own.length + indent)}${word}`;
    width = isFirst ? width + more : fits ? width + 1 + more : own.length + indent + more;
    isFirst = false;
  }
  return lines;
}
