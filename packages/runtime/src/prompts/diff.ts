import { z } from 'zod';

export const PromptDiff = z.object({
  from: z.int(),
  to: z.int(),
  added: z.int().describe('Lines that are only in `to`'),
  removed: z.int().describe('Lines that are only in `from`'),
  unified: z.string().describe('The difference as a unified diff; empty where there is none'),
  hunks: z.array(
    z.object({
      fromLine: z.int(),
      fromLines: z.int(),
      toLine: z.int(),
      toLines: z.int(),
      lines: z.array(z.object({ kind: z.enum(['same', 'added', 'removed']), text: z.string() })),
    }),
  ),
});
export type PromptDiff = z.infer<typeof PromptDiff>;

interface Side {
  version: number;
  text: string;
}

/** What changed between two versions, by line. */
export async function diffPrompts(from: Side, to: Side): Promise<PromptDiff> {
  const { formatPatch, structuredPatch } = await import('diff');
  const names = [`version ${from.version}`, `version ${to.version}`] as const;
  const make = (maxEditLength: number) =>
    structuredPatch(...names, from.text, to.text, undefined, undefined, { context: CONTEXT, maxEditLength });
  const patch = make(MAX_EDITS) ?? replaceAll(from, to);
  const hunks = patch.hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => ({
    fromLine: oldStart,
    fromLines: oldLines,
    toLine: newStart,
    toLines: newLines,
    lines: lines.flatMap(toLine),
  }));
  const count = (kind: 'added' | 'removed') =>
    hunks.flatMap(({ lines }) => lines).filter((line) => line.kind === kind).length;
  const unified = hunks.length === 0 ? '' : formatPatch({ ...patch, hunks: patch.hunks });
  return { from: from.version, to: to.version, added: count('added'), removed: count('removed'), unified, hunks };
}

// --- internal ---

type Line = PromptDiff['hunks'][number]['lines'][number];

const CONTEXT = 3;

/** Texts that have less than this in common are shown as replaced: comparing them would block the event loop. */
const MAX_EDITS = 2_000;

const KINDS: Record<string, Line['kind'] | undefined> = { ' ': 'same', '+': 'added', '-': 'removed' };

/** `\ No newline at end of file` is no line. */
function toLine(line: string): Line[] {
  const kind = KINDS[line.charAt(0)];
  return kind ? [{ kind, text: line.slice(1) }] : [];
}

function replaceAll(from: Side, to: Side) {
  const [before, after] = [from.text, to.text].map((text) => text.replace(/\n$/, '').split('\n'));
  const hunk = {
    oldStart: 1,
    oldLines: before?.length ?? 0,
    newStart: 1,
    newLines: after?.length ?? 0,
    lines: [...(before ?? []).map((line) => `-${line}`), ...(after ?? []).map((line) => `+${line}`)],
  };
  const [oldFileName, newFileName] = [`version ${from.version}`, `version ${to.version}`];
  return { oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks: [hunk] };
}
