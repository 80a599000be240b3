import { isIPv6 } from 'node:net';

type Place = readonly [start: number, end: number];

/** Around each `@`. */
export function findEmails(text: string): Place[] {
  const places: Place[] = [];
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    let start = at;
    while (start > 0 && at - start < 64 && isIn(LOCAL, text.charCodeAt(start - 1))) start -= 1;
    let end = at + 1;
    while (end < text.length && end - at < 256 && isIn(DOMAIN, text.charCodeAt(end))) end += 1;
    while (end > at && isDotOrDash(text.charCodeAt(end - 1))) end -= 1;
    // A domain of two parts is `a.bc` at least.
    if (start < at && end - at > 3 && /\.[\p{L}]{2}/u.test(text.slice(at + 1, end))) places.push([start, end]);
  }
  return places;
}

/** By country, length and check digits, in groups or without. */
export function findIbans(text: string): Place[] {
  const places: Place[] = [];
  for (let from = 0; from + 14 < text.length; from++) {
    // Two letters and two digits. What is no digit is the third of no other, and what is no letter the first of none.
    if (!isDigit(text.charCodeAt(from + 3))) {
      from += 1;
      continue;
    }
    if (!isDigit(text.charCodeAt(from + 2))) continue;
    if (!isLetter(text.charCodeAt(from + 1))) {
      from += 1;
      continue;
    }
    if (!isLetter(text.charCodeAt(from))) continue;
    const length = IBAN_LENGTHS[toCountry(text.charCodeAt(from), text.charCodeAt(from + 1))] as number;
    const end = length === 0 ? undefined : findEnd(text, from, length);
    if (end !== undefined) places.push([from, end]);
  }
  return places;
}

export function findIps(text: string): Place[] {
  const places: Place[] = [];
  if (text.includes('.'))
    for (const { index, 0: found } of text.matchAll(IPV4)) places.push([index, index + found.length]);
  if (!text.includes(':')) return places;
  for (const { index, 0: found } of text.matchAll(HEX_AND_COLONS)) {
    if (found.length > LONGEST_IPV6 || found.indexOf(':') === found.lastIndexOf(':')) continue;
    const address = found.replace(/[.:]+$/, (end) => (end === '::' ? end : ''));
    const isAlone =
      !/[\p{L}\p{N}_]/u.test(text[index - 1] ?? '') && !/[\p{L}_]/u.test(text[index + found.length] ?? '');
    if (isAlone && /[\da-f]+:.*[\da-f]{2}/i.test(address) && isIPv6(address))
      places.push([index, index + address.length]);
  }
  return places;
}

// --- internal ---

function isLetter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

const LOCAL = toSet("._%+-'#$&*/=^~");
const DOMAIN = toSet('.-');

/** Letters and digits of ASCII, and these. */
function toSet(more: string): Uint8Array {
  const set = new Uint8Array(128);
  for (let code = 0; code < 128; code++)
    if (isLetter(code) || isDigit(code) || more.includes(String.fromCharCode(code))) set[code] = 1;
  return set;
}

/** What is not ASCII is in all of them. */
function isIn(set: Uint8Array, code: number): boolean {
  return code > 127 || set[code] === 1;
}

function isDotOrDash(code: number): boolean {
  return code === 46 || code === 45;
}

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = new RegExp(`(?<!\\d)(?:${OCTET}\\.){3}${OCTET}(?!\\d)`, 'g');
const HEX_AND_COLONS = /[\da-fA-F:.]+/g;
const LONGEST_IPV6 = 46;

/** By country; 0: it has none. */
const IBAN_LENGTHS = new Uint8Array(32 * 32);
for (const entry of (
  'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 ' +
  'FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 ' +
  'LU20 LV21 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 ' +
  'SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20'
).split(' '))
  IBAN_LENGTHS[toCountry(entry.charCodeAt(0), entry.charCodeAt(1))] = Number(entry.slice(2));

/** Of two letters, of either case. */
function toCountry(first: number, second: number): number {
  return (first & 31) * 32 + (second & 31);
}

/** For one at a time. */
const iban = new Uint8Array(34);

function findEnd(text: string, from: number, length: number): number | undefined {
  let at = from;
  let read = 0;
  for (; at < text.length && read < length; at++) {
    const code = text.charCodeAt(at);
    if (isDigit(code)) iban[read++] = code - 48;
    // Of either case.
    else if (isLetter(code)) iban[read++] = (code & 31) + 9;
    else if (!isGap(code) || isGap(text.charCodeAt(at - 1))) return undefined;
  }
  return read === length && remainderOf(length) === 1 ? at : undefined;
}

function isGap(code: number): boolean {
  return code === 32 || code === 0xa0 || code === 45;
}

/** Of its digits and letters, a letter being ten or more: the first four stand behind the others. */
function remainderOf(length: number): number {
  let rest = 0;
  for (let at = 4; at < length + 4; at++) {
    const value = iban[at < length ? at : at - length] as number;
    rest = rest * (value > 9 ? 100 : 10) + value;
    if (rest > 9_999_999) rest %= 97;
  }
  return rest % 97;
}
