// @ts-check
/** What the pages of docs/reference are made with. */

/** @param {string[]} parts */
export function joinPage(parts) {
  return `${[WRITTEN, ...parts].join('\n\n')}\n`;
}

/**
 * @param {string[]} head
 * @param {string[][]} rows
 */
export function table(head, rows) {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(escapeCell).join(' | ')} |`);
  return lines.join('\n');
}

/** @param {string} text */
export function code(text) {
  return `\`${text}\``;
}

// --- internal ---

const WRITTEN = '<!-- Written by scripts/make-reference.mjs from the code. Do not edit: run `pnpm reference`. -->';

/** @param {string} text */
function escapeCell(text) {
  // What is in angle brackets outside of code would be an element, which a viewer leaves out.
  return text.replaceAll('|', '\\|').replaceAll(/(`[^`]*`)|</g, (_, quoted) => quoted ?? '&lt;');
}
