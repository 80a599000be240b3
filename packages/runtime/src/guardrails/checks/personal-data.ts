import type { PersonalData } from '../store.ts';
import { findCards, findPhones, readDigits } from './digits.ts';
import { createFound, WINDOW } from './finder.ts';
import type { CreateFinder, Finder, View } from './finder.ts';
import { findEmails, findIbans, findIps } from './identifiers.ts';
import { findNationalIds } from './national-ids.ts';
import { findSecrets, PRIVATE_KEY } from './secrets.ts';

/** Finds each kind by itself: one that runs straight into another hides neither. */
export function createPersonalDataFinder(named: readonly PersonalData[]): CreateFinder {
  // What may be a phone number, too, is called by the other name.
  const wanted = new Set([...named].sort((a, b) => Number(a === 'phone') - Number(b === 'phone')));
  const needsDigits = wanted.has('phone') || wanted.has('card');
  const all = [...wanted];
  const least = Math.min(...all.map((kind) => SHORTEST[kind]));
  const withoutDigits = all.filter((kind) => !NEED_DIGITS.has(kind));
  /** Those that begin before `most`. */
  const addAll = (text: string, most: number, hasDigit: boolean, add: AddPlace): void => {
    // All but secrets end soon behind that.
    const short = text.length > most + LONGEST_SHORT ? text.slice(0, most + LONGEST_SHORT) : text;
    const digits = needsDigits && hasDigit && text.length >= SHORTEST.phone ? readDigits(short) : [];
    for (const kind of hasDigit ? all : withoutDigits) {
      if (text.length < SHORTEST[kind]) continue;
      for (const [start, end] of FINDERS[kind](kind === 'secret' ? text : short, digits))
        if (start < most) add(kind, start, end);
    }
  };
  return (): Finder => {
    const found = createFound();
    const run = createRun();
    let at = 0;
    const look = ({ text, base }: View, to: number, most: number): void => {
      const from = run.from;
      if (!run.mayHold || to - from < least) return;
      addAll(text.slice(from - base, to - base), most - from, run.hasDigit, (label, start, end) =>
        found.add({ start: from + start, end: from + end, label }),
      );
    };
    // Without accessors, of which each object has its own: a value may be a list of as many texts as it has characters.
    const finder = {
      take: found.take,
      decided: 0,
      read(view: View): void {
        const { text, base, isEnd } = view;
        const end = base + text.length;
        for (; at < end; at++) {
          const code = text.charCodeAt(at - base);
          if (run.from < 0) {
            if (!isBreak(code)) run.begin(at, code);
            continue;
          }
          if (!run.goesOn(code, at, view)) {
            look(view, at, at);
            run.end();
          } else if (at - run.from >= WINDOW) {
            const most = run.from + WINDOW / 2;
            look(view, at, most);
            run.cut(most);
          }
        }
        if (isEnd && run.from >= 0) {
          look(view, end, end);
          run.end();
        }
        finder.decided = run.from < 0 ? at : run.from;
      },
    };
    return finder;
  };
}

// --- internal ---

type Place = readonly [start: number, end: number];
type AddPlace = (kind: PersonalData, start: number, end: number) => void;
type FindPlaces = (run: string, digits: ReturnType<typeof readDigits>) => Place[];

const FINDERS: Record<PersonalData, FindPlaces> = {
  email: findEmails,
  phone: (_, digits) => findPhones(digits),
  card: (_, digits) => findCards(digits),
  iban: findIbans,
  ip: findIps,
  'national-id': findNationalIds,
  secret: findSecrets,
};

/** Characters of the shortest that there is of a kind: in a list of numbers each is looked at by itself. */
const SHORTEST: Record<PersonalData, number> = {
  email: 5,
  ip: 5,
  phone: 8,
  'national-id': 9,
  card: 13,
  iban: 15,
  secret: 15,
};

/** More characters than any of them has, and than it takes to see that there is none; but for secrets. */
const LONGEST_SHORT = 512;

const NEED_DIGITS: ReadonlySet<PersonalData> = new Set(['phone', 'card', 'iban', 'national-id']);

const SPACE = 32;
const HARD_SPACE = 0xa0;
const AT = 64;
const COLON = 58;
const DASH = 45;
const UNDERSCORE = 95;
const PLUS = 43;
const OPENING = 40;
const CLOSING = 41;
const DOT = 46;

/** Characters none of the kinds has: `,;"<>|{}[]\!?`, backticks and what is blank. */
function isBreak(code: number): boolean {
  return code <= SPACE || (code < 128 ? BREAKS[code] === 1 : code === HARD_SPACE || code === 0x2028 || code === 0x2029);
}

const BREAKS = new Uint8Array(128);
for (const char of ',;"<>|{}[]\\!?`') BREAKS[char.charCodeAt(0)] = 1;

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** The longest text without a place where all kinds end. A single space is none within numbers and behind a few words. */
function createRun() {
  let last = 0;
  /** Where its last word began. */
  let word = 0;
  let keyFrom = -1;
  /** What begins there is the heading of a key. */
  let isKeyKnown = false;
  const run = {
    from: -1,
    hasDigit: false,
    /** It has a character that one of the kinds has to have. */
    mayHold: false,
    begin(at: number, code: number): void {
      run.from = at;
      run.mayHold = false;
      run.hasDigit = false;
      word = at;
      keyFrom = -1;
      note(code);
    },
    goesOn(code: number, at: number, view: View): boolean {
      // Most of them: within a word.
      if (code >= 97 && code <= 122 && last !== SPACE) {
        last = code;
        return true;
      }
      const isBlank = code === SPACE || code === HARD_SPACE;
      if (!isBreak(code)) {
        if (last === SPACE) word = at;
        if (code === DASH && keyFrom < 0 && beginsKey(view, at)) {
          keyFrom = at;
          isKeyKnown = false;
        }
        note(code);
        return true;
      }
      const isKey = keyFrom >= 0 && staysKey(view, at);
      if (!isKey && !(isBlank && last !== SPACE && bridges(view, at))) return false;
      last = SPACE;
      return true;
    },
    cut(at: number): void {
      run.from = at;
      if (keyFrom < at) keyFrom = -1;
      word = Math.max(word, at);
    },
    end(): void {
      run.from = -1;
    },
  };
  const note = (code: number): void => {
    last = code;
    run.hasDigit ||= isDigit(code);
    run.mayHold ||= run.hasDigit || code === AT || code === COLON || code === UNDERSCORE || code === DASH;
  };
  const beginsKey = ({ text, base }: View, at: number): boolean =>
    at - base >= 4 && text.startsWith('----', at - base - 4);
  const staysKey = ({ text, base }: View, at: number): boolean => {
    const from = keyFrom - base;
    const to = at - base;
    isKeyKnown ||= PRIVATE_KEY.isHeading(text.slice(from, Math.min(to, from + PRIVATE_KEY.longestHeading)));
    if (!isKeyKnown) return to - from < PRIVATE_KEY.longestHeading;
    return (
      !text.startsWith('-----', to - 5) ||
      !PRIVATE_KEY.isWhole(text.slice(Math.max(from, to - PRIVATE_KEY.longestEnd), to))
    );
  };
  const bridges = ({ text, base }: View, at: number): boolean => {
    if (isDigit(last) || last === PLUS || last === OPENING || last === CLOSING || last === DASH || last === DOT)
      return true;
    const from = Math.max(run.from, at - LONGEST_GROUPED);
    // Two capitals, as in some national ids, or the word before a credential.
    const length = at - word;
    if (length === 2 && /^[A-Z]{2}$/.test(text.slice(word - base, at - base))) return true;
    if ((length === 5 || length === 6) && /^(?:bearer|basic)$/i.test(text.slice(word - base, at - base))) {
      run.mayHold = true;
      return true;
    }
    return run.hasDigit && GROUPED.test(text.slice(from - base, at - base));
  };
  return run;
}

/** An IBAN in groups takes as many. */
const LONGEST_GROUPED = 44;
const GROUPED = /[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]){0,38}$/;
