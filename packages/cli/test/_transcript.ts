import { join } from 'node:path';
import { expect } from 'vitest';
import { runCli } from './_run.ts';
import type { CliResult } from '../src/main.ts';
import { textWidth } from '../src/terminal/width.ts';
import type { CaptureOptions } from '../src/terminal/terminal.ts';
import { UTF8 } from './_setup.ts';

export interface TranscriptOptions {
  columns: number;
  cwd?: string;
  env?: Record<string, string>;
  /** What is another one each time, made the same. */
  settle?(text: string): string;
}

/** What a person sees who runs one command after the other. */
export interface Transcript {
  run(argv: string[], options?: CaptureOptions): Promise<CliResult>;
  /** A line that is not the command line's own. */
  note(text: string): void;
  /** Compares it with `transcripts/<name>-<columns>.txt`, and its lines with the width of the terminal. */
  expectFile(name: string): Promise<void>;
}

export const WIDTHS = [80, 120];

export function startTranscript({ columns, cwd, env = {}, settle = (text) => text }: TranscriptOptions): Transcript {
  const shown: string[] = [];
  const wide: string[] = [];
  return {
    async run(argv, options = {}) {
      const all = { ...UTF8, NO_COLOR: '1', ...env, ...options.env };
      const result = await runCli(argv, { cwd, tty: true, columns, ...options, env: all } as CaptureOptions);
      const text = settle(`${result.stdout}${mark(result.stderr.replace(TOOK, ''))}`);
      shown.push(
        `${['$ svc', ...argv.map((word) => settle(quote(word)))].join(' ')}\n${text}${exitOf(result.exitCode)}`,
      );
      wide.push(...text.split('\n').filter((line) => isTooWide(line.replace(/^! /, ''), columns)));
      return result;
    },
    note: (text) => void shown.push(text),
    async expectFile(name) {
      const text = `${shown.join('\n').trimEnd()}\n`;
      await expect(text).toMatchFileSnapshot(join('transcripts', `${name}-${columns}.txt`));
      expect(wide).toEqual([]);
    },
  };
}

/** Ids, times, versions and durations, which no two boxes have the same. */
export function settleIds(text: string): string {
  const ids = new Map<string, string>();
  return text
    .replaceAll(/(?<![\da-f-])[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b/g, (id) => {
      const name = ids.get(id) ?? `00000000-0000-7000-8000-${String(ids.size + 1).padStart(12, '0')}`;
      ids.set(id, name);
      return name;
    })
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '2026-01-31T12:00:00.000Z')
    .replaceAll(/(?<![\d.])0\.\d+\.\d+(?![\d.])/g, '0.0.0');
}

// --- internal ---

/** Said of a command that took long, which is the machine's doing. */
const TOOK = /^Took \d+\.\d s\n/m;

/** A line of the terminal's own width or less; one word that is wider cannot be helped, and a command is not broken. */
function isTooWide(line: string, columns: number): boolean {
  if (textWidth(line) <= columns) return false;
  // A record of a log is one line, however long.
  if (/^\d{4}-\d\d-\d\dT\S+ (?:debug|info|warn|error) /.test(line)) return false;
  const isOneWord =
    /^\s*\S+$/.test(line) || /^\s*(?:(?:npx )?svc|docker) /.test(line) || /^\s*\S*`[^`]*`\S*$/.test(line);
  return !isOneWord;
}

/** What goes to stderr. */
function mark(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '! ');
}

function exitOf(code: number): string {
  return code === 0 ? '' : `(exit ${code})\n`;
}

function quote(word: string): string {
  return /^[\w./:=,@<>-]+$/.test(word) ? word : `'${word}'`;
}
