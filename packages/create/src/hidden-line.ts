import { StringDecoder } from 'node:string_decoder';
import type { ReadStream } from 'node:tty';

/** What a person types until Enter, of which nothing is shown. */
export interface HiddenLine {
  /** Takes what a terminal brings. `done` with Enter, `left` with Ctrl-C, or Ctrl-D where nothing is typed. */
  take(chunk: Uint8Array): 'open' | 'done' | 'left';
  text(): string;
}

/**
 * A paste may have several lines, as a private key has: those of a terminal that marks a paste, and else those that
 * come at once.
 */
export function createHiddenLine(): HiddenLine {
  const decoder = new StringDecoder('utf8');
  let typed: string[] = [];
  let rest = '';
  let isPaste = false;
  return {
    take(chunk) {
      const [, whole = '', cut = ''] = CUT.exec(rest + decoder.write(Buffer.from(chunk))) ?? [];
      // The key Escape is none that means something: the rest of a longer one may follow.
      rest = cut;
      const keys = whole.replaceAll('\r\n', '\n').match(KEYS) ?? [];
      const last = keys.findLastIndex((key) => !isBreak(key));
      for (const [at, key] of keys.entries()) {
        if (key === PASTE_BEGINS || key === PASTE_ENDS) isPaste = key === PASTE_BEGINS;
        else if (isBreak(key)) {
          if (!isPaste && at > last) return 'done';
          typed.push('\n');
        } else if (isPaste) typed.push(key);
        else if (key === CTRL_C || (key === CTRL_D && typed.length === 0)) return 'left';
        else if (BACKSPACE.includes(key)) typed.pop();
        else if (key === CTRL_U) typed = [];
        else if (!/^\p{Cc}/u.test(key)) typed.push(key);
      }
      return 'open';
    },
    text: () => typed.join(''),
  };
}

/** Undefined: the person left. The terminal is as it was, however it ends. `mark`: shows the codes of a terminal. */
export function readHidden(
  stdin: ReadStream,
  { ask, mark, signal }: { ask(): void; mark(codes: string): void; signal: AbortSignal },
): Promise<string | undefined> {
  const line = createHiddenLine();
  return new Promise((resolve) => {
    const end = (text: string | undefined) => {
      stdin.off('data', take).off('end', leave);
      signal.removeEventListener('abort', leave);
      stdin.setRawMode(false).pause();
      mark('\u001B[?2004l');
      resolve(text);
    };
    const leave = () => end(undefined);
    const take = (chunk: Uint8Array) => {
      const state = line.take(chunk);
      if (state !== 'open') end(state === 'done' ? line.text() : undefined);
    };
    if (signal.aborted) return resolve(undefined);
    signal.addEventListener('abort', leave, { once: true });
    stdin.setRawMode(true).on('data', take).on('end', leave).resume();
    mark('\u001B[?2004h');
    // Who sees the question may type: from here on nothing of it is echoed.
    ask();
  });
}

// --- internal ---

const ESCAPE = '\u001B';
const PASTE_BEGINS = `${ESCAPE}[200~`;
const PASTE_ENDS = `${ESCAPE}[201~`;
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const CTRL_U = '\u0015';
const BACKSPACE = ['\u007F', '\b'];

/** A key each: an arrow and the like is several characters. */
const KEYS = new RegExp(`${ESCAPE}\\[[\\d;]*[@-~]|${ESCAPE}O.|[^]`, 'gu');

/** All keys, and one that is cut off at the end. */
const CUT = new RegExp(`^([^]*?)(${ESCAPE}(?:\\[[\\d;]*)?)?$`);

function isBreak(key: string): boolean {
  return key === '\r' || key === '\n';
}
