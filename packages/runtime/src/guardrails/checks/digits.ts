/** A number as people write it: its digits, where each is, and what is between them. */
export interface Digits {
  text: string;
  /** Where each digit is. */
  places: number[];
  /** What stands between a digit and the one before it, by its kind: a `GAP_…`. Of the first: `NO_GAP`. */
  gaps: number[];
  /** What they are read from. */
  source: string;
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
    const gap = open ? gapOf(text, end, from) : APART;
    if (!open || gap === APART) {
      open = { text: '', places: [], gaps: [], source: text };
      all.push(open);
      open.gaps.push(NO_GAP);
    } else open.gaps.push(gap);
    open.places.push(from);
    for (let place = from + 1; place <= at; place++) {
      open.gaps.push(NO_GAP);
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
  for (const number of numbers) if (number.text.length >= SHORTEST_CARD) addCardsIn(number, places);
  return places;
}

/** Phone numbers: with a plus or two zeros, a zero and nine digits or more, or in groups as they are written. */
export function findPhones(numbers: readonly Digits[]): Place[] {
  const places: Place[] = [];
  for (const number of numbers) if (number.text.length >= SHORTEST_WHOLE_PHONE) addPhonesIn(number, places);
  return places;
}

// --- internal ---

/** The digits stand together. */
const NO_GAP = 0;
/** One character that stands between the groups of a card, too. */
const GAP_TIGHT = 1;
/** Stands between the groups of a phone number alone. */
const GAP_LOOSE = 2;
/** Such a one with a plus, which begins another number. */
const GAP_PLUS = 3;
/** What stands between digits of two numbers. */
const APART = 4;

/** One separator, or a bracket with a space. */
const BETWEEN = /^(?:[ \u00a0.\-/]|[ \u00a0]?[()]|[()][ \u00a0.\-/]| - |-\(| \+|\+)$/;
const LONGEST_BETWEEN = 3;

function gapOf(text: string, from: number, to: number): number {
  if (to - from === 1) {
    const code = text.charCodeAt(from);
    // A space, a dash, a dot, and a space that does not break.
    if (code === 32 || code === 45 || code === 46 || code === 0xa0) return GAP_TIGHT;
  }
  if (to - from > LONGEST_BETWEEN) return APART;
  const between = text.slice(from, to);
  if (!BETWEEN.test(between)) return APART;
  return between.includes('+') ? GAP_PLUS : GAP_LOOSE;
}

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

function addCardsIn({ text, places: at, gaps }: Digits, places: Place[]): void {
  const { values, even, odd, loose } = sum(text, gaps);
  const last = text.length - SHORTEST_CARD;
  for (let from = 0; from <= last; from++) {
    const lengths = lengthsAt(values, from);
    for (let nth = 0; nth < lengths.length; nth++) {
      const to = from + (lengths[nth] as number);
      if (to > text.length) continue;
      // Of its digits the last one is taken as it is, and every other one before it.
      const sums = (to & 1) === 1 ? even : odd;
      // They stand together, or in groups with a space, a dash or a dot between.
      if (sums[to] === sums[from] && loose[to] === loose[from + 1])
        places.push([at[from] as number, (at[to - 1] as number) + 1]);
    }
  }
}

/** How long a card is that begins there. */
function lengthsAt(values: Uint8Array, from: number): readonly number[] {
  const first = values[from] as number;
  if (first === 4) return VISA;
  if ((first < 2 || first > 6) && first !== 8) return NONE;
  const two = first * 10 + (values[from + 1] as number);
  if (two === 34 || two === 37) return FIFTEEN;
  if (two >= 51 && two <= 55) return SIXTEEN;
  if (two === 30 || two === 36 || two === 38 || two === 39) return FOURTEEN;
  if (two === 35 || two === 65) return SIXTEEN;
  const four = two * 100 + (values[from + 2] as number) * 10 + (values[from + 3] as number);
  if ((four >= 2_221 && four <= 2_720) || four === 6_011 || (four >= 6_440 && four <= 6_499)) return SIXTEEN;
  return two === 62 || two === 81 ? LONG : NONE;
}

/** Of a number, of which each part is known from its beginning and its end. What stands first in the sums is 0. */
interface Sums {
  /** Its digits. */
  values: Uint8Array;
  /** Every digit at an even place is taken as it is and the others doubled, modulo 10. */
  even: Uint8Array;
  /** The other way round. */
  odd: Uint8Array;
  /** How many gaps no card has. */
  loose: Int32Array;
}

function toSums(length: number): Sums {
  return {
    values: new Uint8Array(length),
    even: new Uint8Array(length),
    odd: new Uint8Array(length),
    loose: new Int32Array(length),
  };
}

/** For one number at a time. */
let scratch = toSums(64);

function sum(text: string, gaps: readonly number[]): Sums {
  if (scratch.values.length <= text.length) scratch = toSums(text.length + 1);
  const { values, even, odd, loose } = scratch;
  let ofEven = 0;
  let ofOdd = 0;
  let ofLoose = 0;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    const twice = digit > 4 ? digit * 2 - 9 : digit * 2;
    const isEven = (at & 1) === 0;
    values[at] = digit;
    ofEven += isEven ? digit : twice;
    if (ofEven > 9) ofEven -= 10;
    ofOdd += isEven ? twice : digit;
    if (ofOdd > 9) ofOdd -= 10;
    if ((gaps[at] as number) > GAP_TIGHT) ofLoose += 1;
    even[at + 1] = ofEven;
    odd[at + 1] = ofOdd;
    loose[at + 1] = ofLoose;
  }
  return scratch;
}

const MOST_DIGITS = 15;
/** With a country's code. */
const SHORTEST_WHOLE_PHONE = 8;
/** Without a country's code. */
const SHORTEST_PHONE = 9;

function addPhonesIn(number: Digits, places: Place[]): void {
  const { text, places: at, gaps } = number;
  for (let from = 0; from < text.length;) {
    let to = from + 1;
    while (to < text.length && to - from < MOST_DIGITS && gaps[to] !== GAP_PLUS) to += 1;
    if (to - from >= SHORTEST_WHOLE_PHONE) {
      const lead = leadOf(number, from);
      if (isPhone(number, lead, from, to)) {
        const opening = lead === '' ? 0 : (/[+(]+$/.exec(lead)?.[0].length ?? 0);
        places.push([(at[from] as number) - opening, (at[to - 1] as number) + 1]);
      }
    }
    from = to;
  }
}

/** What comes before a digit; of the first, two characters at most. */
function leadOf({ source, places, gaps }: Digits, nth: number): string {
  const at = places[nth] as number;
  if (nth === 0) return source.slice(Math.max(0, at - 2), at);
  return gaps[nth] === NO_GAP ? '' : source.slice((places[nth - 1] as number) + 1, at);
}

function isPhone(number: Digits, lead: string, from: number, to: number): boolean {
  const { text } = number;
  if (lead.endsWith('+') || lead.endsWith('+(')) return true;
  const isZero = text.charCodeAt(from) === ZERO;
  if (isZero && text.charCodeAt(from + 1) === ZERO) return true;
  if (to - from < SHORTEST_PHONE) return false;
  const groups = toGroups(number, from, to);
  if (isDate(groups) || isQuad(groups)) return false;
  if (isZero) return true;
  return groups.length > 1 && to - from >= 10 && groups.every((group) => group.length <= 11);
}

const ZERO = 48;

function toGroups({ text, gaps }: Digits, from: number, to: number): string[] {
  const groups: string[] = [];
  let begun = from;
  for (let at = from + 1; at < to; at++) {
    if (gaps[at] === NO_GAP) continue;
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
