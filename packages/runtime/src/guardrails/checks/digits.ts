/** A number as people write it: its digits, where each stands, and whether something stands before it. */
export interface Digits {
  text: string;
  /** Where each digit stands. */
  places: number[];
  /** What stands between a digit and the one before it; of the first, what stands right before. */
  before: string[];
}

type Place = readonly [start: number, end: number];

/** The numbers in a text, whose digits may stand apart by as much as people write between them. */
export function readDigits(text: string): Digits[] {
  const all: Digits[] = [];
  let open: Digits | undefined;
  let end = -1;
  for (let at = 0; at < text.length; at++) {
    if (!isDigitAt(text, at)) continue;
    const from = at;
    while (at + 1 < text.length && isDigitAt(text, at + 1)) at += 1;
    const between = open ? text.slice(end, from) : '';
    if (!open || !isBetween(between)) {
      open = { text: '', places: [], before: [] };
      all.push(open);
      open.before.push(text.slice(Math.max(0, from - 2), from));
    } else open.before.push(between);
    open.places.push(from);
    for (let place = from + 1; place <= at; place++) {
      open.before.push('');
      open.places.push(place);
    }
    end = at + 1;
    open.text += text.slice(from, end);
  }
  return all;
}

/** Payment cards: by how they begin, how long they are, and their check digit, wherever among other digits. */
export function findCards(numbers: readonly Digits[]): Place[] {
  const places: Place[] = [];
  for (const { text, places: at, before } of numbers) {
    if (text.length < SHORTEST_CARD) continue;
    let sums: ReturnType<typeof toSums> | undefined;
    for (let from = 0; from + SHORTEST_CARD <= text.length; from++)
      for (const length of lengthsOf(text, from)) {
        const to = from + length;
        if (to > text.length) continue;
        sums ??= toSums(text, before);
        if (!sums.isTight(from, to) || !sums.isLuhn(from, to)) continue;
        places.push([at[from] as number, (at[to - 1] as number) + 1]);
      }
  }
  return places;
}

/** Phone numbers: with a plus or two zeros, a zero and nine digits or more, or in groups as they are written. */
export function findPhones(numbers: readonly Digits[]): Place[] {
  const places: Place[] = [];
  for (const number of numbers) if (number.text.length >= SHORTEST_WHOLE_PHONE) addPhonesIn(number, places);
  return places;
}

// --- internal ---

/** One separator, or a bracket with a space. */
const BETWEEN = /^(?:[ \u00a0.\-/]|[ \u00a0]?[()]|[()][ \u00a0.\-/]| - |-\(| \+|\+)?$/;
const LONGEST_BETWEEN = 3;
const SHORTEST_CARD = 13;
const NONE: readonly number[] = [];
const VISA = [13, 16, 19];
const SIXTEEN = [16];
const FIFTEEN = [15];
const FOURTEEN = [14];
const LONG = [16, 19];

function isDigitAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}

function isBetween(text: string): boolean {
  return text === ' ' || text === '-' || (text.length <= LONGEST_BETWEEN && BETWEEN.test(text));
}

function lengthsOf(text: string, from: number): readonly number[] {
  const first = text.charCodeAt(from) - 48;
  if (first === 4) return VISA;
  if ((first < 2 || first > 6) && first !== 8) return NONE;
  const two = first * 10 + text.charCodeAt(from + 1) - 48;
  if (two === 34 || two === 37) return FIFTEEN;
  if (two >= 51 && two <= 55) return SIXTEEN;
  if (two === 30 || two === 36 || two === 38 || two === 39) return FOURTEEN;
  if (two === 35 || two === 65) return SIXTEEN;
  const four = two * 100 + (text.charCodeAt(from + 2) - 48) * 10 + text.charCodeAt(from + 3) - 48;
  if ((four >= 2_221 && four <= 2_720) || four === 6_011 || (four >= 6_440 && four <= 6_499)) return SIXTEEN;
  return two === 62 || two === 81 ? LONG : NONE;
}

/** What is asked of each part of a long number, from sums over its beginnings. */
function toSums(text: string, before: readonly string[]) {
  const length = text.length + 1;
  /** With every digit at an even place taken as it is and the others doubled, and the other way round. */
  const [even, odd, loose] = toScratch(length);
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48;
    const twice = digit > 4 ? digit * 2 - 9 : digit * 2;
    const isEven = (at & 1) === 0;
    even[at + 1] = (even[at] as number) + (isEven ? digit : twice);
    odd[at + 1] = (odd[at] as number) + (isEven ? twice : digit);
    const gap = before[at] as string;
    loose[at + 1] = (loose[at] as number) + (gap === '' || gap === ' ' || TIGHT.has(gap) ? 0 : 1);
  }
  const sumOf = (sums: Int32Array, from: number, to: number): number => (sums[to] as number) - (sums[from] as number);
  return {
    /** Its digits stand together, or in groups with a space, a dash or a dot between. */
    isTight: (from: number, to: number): boolean => sumOf(loose, from + 1, to) === 0,
    /** Of its digits the last one is taken as it is, and every other one before it. */
    isLuhn: (from: number, to: number): boolean => sumOf((to & 1) === 1 ? even : odd, from, to) % 10 === 0,
  };
}

/** For one number at a time. What stands first in each is 0. */
let scratch: readonly [Int32Array, Int32Array, Int32Array] = [
  new Int32Array(64),
  new Int32Array(64),
  new Int32Array(64),
];

function toScratch(length: number): typeof scratch {
  if (scratch[0].length < length) scratch = [new Int32Array(length), new Int32Array(length), new Int32Array(length)];
  return scratch;
}

const TIGHT = new Set(['', ' ', '\u00a0', '-', '.']);

const MOST_DIGITS = 15;
/** With a country's code. */
const SHORTEST_WHOLE_PHONE = 8;
/** Without a country's code. */
const SHORTEST_PHONE = 9;

function addPhonesIn({ text, places: at, before }: Digits, places: Place[]): void {
  for (let from = 0; from < text.length;) {
    let to = from + 1;
    // A plus begins another one.
    while (to < text.length && to - from < MOST_DIGITS && !hasPlus(before[to] as string)) to += 1;
    const lead = before[from] as string;
    if (
      to - from >= SHORTEST_WHOLE_PHONE &&
      isPhone(text.slice(from, to), lead, () => toGroups(text, before, { from, to }))
    ) {
      const opening = lead === '' ? 0 : (/[+(]+$/.exec(lead)?.[0].length ?? 0);
      places.push([(at[from] as number) - opening, (at[to - 1] as number) + 1]);
    }
    from = to;
  }
}

function hasPlus(between: string): boolean {
  return between !== '' && between !== ' ' && between.includes('+');
}

function isPhone(number: string, lead: string, groupsOf: () => readonly string[]): boolean {
  if (lead.endsWith('+') || lead.endsWith('+(') || number.startsWith('00')) return true;
  if (number.length < SHORTEST_PHONE) return false;
  const groups = groupsOf();
  if (isDate(groups) || isQuad(groups)) return false;
  if (number.startsWith('0')) return true;
  if (groups.length < 2) return false;
  return number.length >= 10 && groups.every((group) => group.length <= 11);
}

function toGroups(text: string, before: readonly string[], { from, to }: { from: number; to: number }): string[] {
  const groups: string[] = [];
  let begun = from;
  for (let at = from + 1; at < to; at++) {
    if (before[at] === '') continue;
    groups.push(text.slice(begun, at));
    begun = at;
  }
  groups.push(text.slice(begun, to));
  return groups;
}

/** 2024-01-31, and with an hour behind. */
function isDate([year = '', month = '', day = '']: readonly string[]): boolean {
  return year.length === 4 && /^(?:19|20)\d\d$/.test(year) && /^[01]?\d$/.test(month) && /^[0-3]?\d$/.test(day);
}

/** An address of the internet has four short ones. */
function isQuad(groups: readonly string[]): boolean {
  return groups.length === 4 && groups.every((group) => group.length <= 3) && groups.join('').length < 10;
}
