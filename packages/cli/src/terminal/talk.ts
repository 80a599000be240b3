import { createConsola, LogLevels } from 'consola/core';
import type { ConsolaInstance, ConsolaReporter, LogType } from 'consola/core';
import { toCliError } from '../errors.ts';
import { formatFailure, formatReason } from './failure.ts';
import type { Flags } from './flags.ts';
import type { Progress } from './progress.ts';
import { createStyle, toPlainText } from './style.ts';
import type { Screen, Terminal } from './terminal.ts';
import { wrapText } from './wrap.ts';

/**
 * What a command says on stderr while stdout is for what it answers: `log` a line, or with --json a record; `info` a hint
 * behind the answer; `start` what is done from here on; `debug` with --verbose alone; `error` why it ends.
 */
export type Talk = ConsolaInstance;

export interface TalkOptions {
  flags: Flags;
  progress: Progress;
}

/** Takes no part in asking: the prompts of consola draw on stdout, and none of them hides what is typed. */
export function createTalk({ stderr, env }: Pick<Terminal, 'stderr' | 'env'>, { flags, progress }: TalkOptions): Talk {
  const print = flags.json ? createJsonPrinter(stderr) : createPrinter({ stderr, env, colour: flags.color, progress });
  return createConsola({
    level: flags.verbose ? LogLevels.debug : LogLevels.info,
    // A line that comes twice is meant twice.
    throttle: 0,
    reporters: [toReporter(print)],
  });
}

// --- internal ---

/** How each kind is printed; a kind that is missing is not. */
type Printer = Partial<Record<LogType, (given: unknown) => void>>;

function toReporter(print: Printer): ConsolaReporter {
  return { log: ({ type, args: [given] }) => print[type]?.(given) };
}

interface PrinterOptions extends Pick<Terminal, 'stderr' | 'env'> {
  colour: boolean;
  progress: Progress;
}

function createPrinter({ stderr, env, colour, progress }: PrinterOptions): Printer {
  const style = createStyle(stderr, env, { colour });
  const line = (text: string) => stderr.write(`${text}\n`);
  return {
    log: (given) => (isRecord(given) ? undefined : line(String(given))),
    info: (hint) => line(style.dim(wrapText(toPlainText(String(hint)), style))),
    start: (phase) => progress.start(String(phase)),
    debug: (given) => line(given instanceof Error ? style.dim(given.stack ?? '') : String(given)),
    error: (thrown) => line(formatFailure(toCliError(thrown), style)),
  };
}

/** A log reads these: a record a line, and of a failure the reason in one. */
function createJsonPrinter(stderr: Screen): Printer {
  const line = (text: string) => stderr.write(`${text}\n`);
  return {
    log: (given) => (isRecord(given) ? line(JSON.stringify(given)) : undefined),
    debug: (given) => line(given instanceof Error ? (given.stack ?? '') : String(given)),
    error: (thrown) => line(formatReason(toCliError(thrown))),
  };
}

function isRecord(given: unknown): given is object {
  return typeof given === 'object' && given !== null;
}
