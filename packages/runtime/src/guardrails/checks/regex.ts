import { CONTEXT, createFound, WINDOW } from './finder.ts';
import type { CreateFinder, Finder, View } from './finder.ts';
import { compilePattern } from './pattern.ts';

/** Throws an Error that says what is wrong with the pattern. */
export function createRegexFinder(source: string, how: { ignoreCase: boolean }): CreateFinder {
  const { find, live } = compilePattern(source, how);
  return (): Finder => {
    const found = createFound();
    let state = live.idle;
    let at = 0;
    /** Where what is under way began; -1: nothing is. */
    let from = -1;
    let mayMatch = false;
    /** A match is longer than the window: it goes on as long as anything does. */
    let isOpen = false;

    /** Looks at what is under way. Answers where what comes next is looked for. */
    const look = ({ text, base }: View, to: number, isCut: boolean): number => {
      if (isOpen) {
        found.add({ start: from, end: to, label: LABEL });
        return to;
      }
      const most = isCut ? from + WINDOW / 2 : to;
      if (!mayMatch) return most;
      const lead = Math.min(CONTEXT, from - base);
      const origin = from - lead;
      find(text.slice(origin - base, to - base), lead, (start, end) => {
        if (origin + start < most) found.add({ start: origin + start, end: origin + end, label: LABEL });
        isOpen = isCut && origin + start < most && origin + end === to;
      });
      return isOpen ? to : most;
    };
    const rest = (view: View, to: number): void => {
      look(view, to, false);
      from = -1;
      mayMatch = false;
      isOpen = false;
    };

    const finder = {
      take: found.take,
      decided: 0,
      read(view: View): void {
        const { text, base, isEnd } = view;
        const end = base + text.length;
        while (at < end) {
          const code = text.charCodeAt(at - base);
          const codePoint = isHighHalf(code) ? (text.codePointAt(at - base) as number) : code;
          // Half of a character: the other half may be the next to come.
          if (isHighHalf(codePoint) && at + 1 === end && !isEnd) break;
          const size = codePoint > 0xffff ? 2 : 1;
          state = live.step(state, codePoint);
          if (state === live.idle) {
            at += size;
            // The last character has ended what was longer than a window.
            if (from >= 0) rest(view, isOpen ? at - size : at);
            continue;
          }
          if (from < 0) from = at;
          mayMatch ||= state.accepts;
          at += size;
          if (at - from >= WINDOW) from = look(view, at, true);
        }
        if (isEnd && from >= 0) rest(view, end);
        finder.decided = from < 0 ? at : from;
      },
    };
    return finder;
  };
}

// --- internal ---

const LABEL = 'pattern';

function isHighHalf(codePoint: number): boolean {
  return codePoint >= 0xd800 && codePoint <= 0xdbff;
}
