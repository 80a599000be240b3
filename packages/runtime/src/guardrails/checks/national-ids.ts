type Place = readonly [start: number, end: number];

/** Numbers of persons of several states, by their form and, where they have them, their check digits. */
export function findNationalIds(text: string): Place[] {
  const places: Place[] = [];
  const { digits, letters, groups } = count(text);
  const isNumber = digits === text.length;
  for (const { pattern, least, begins, isValid } of FORMS) {
    if (digits < least.digits || letters < least.letters || (groups & begins) === 0) continue;
    // A number by itself is none of another length, and none that has to have something between its digits.
    if (isNumber && digits !== least.alone) continue;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
      const [found] = match;
      if (isValid(found.replace(/[ .\-/\u00a0]/g, '').toUpperCase()))
        places.push([match.index, match.index + found.length]);
    }
  }
  return places;
}

// --- internal ---

interface Form {
  pattern: RegExp;
  /** Fewer have none. `alone`: digits of one that has nothing else; absent: it has. */
  least: { digits: number; letters: number; alone?: number };
  /** How many digits it may begin with, as `toBits` has them: up to what is none, and behind what is none. */
  begins: number;
  /** Of its letters and digits. */
  isValid(id: string): boolean;
}

const PESEL = [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1];
const CPF_FIRST = [10, 9, 8, 7, 6, 5, 4, 3, 2];
const CPF_SECOND = [11, ...CPF_FIRST];

/** More digits together than any of them begins with. */
const MOST_TOGETHER = 16;
const ANY = -1;

function toBits(...lengths: number[]): number {
  return lengths.reduce((bits, length) => bits | (1 << length), 0);
}

const FORMS: readonly Form[] = [
  // United States: social security number.
  {
    pattern: /(?<!\d)(?!000|666|9)\d{3}[- ](?!00)\d{2}[- ](?!0000)\d{4}(?!\d)/g,
    least: { digits: 9, letters: 0 },
    begins: toBits(3),
    isValid: () => true,
  },
  // United Kingdom: national insurance number.
  {
    pattern: /(?<![A-Za-z])[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?![A-Za-z])/g,
    least: { digits: 6, letters: 3 },
    begins: ANY,
    isValid: (id) => !/^(?:BG|GB|KN|NK|NT|TN|ZZ)/.test(id),
  },
  // Spain: DNI and NIE.
  {
    pattern: /(?<![A-Za-z\d])(?:\d{8}|[XYZxyz]-?\d{7})-?[A-Za-z](?![A-Za-z\d])/g,
    least: { digits: 7, letters: 1 },
    begins: ANY,
    isValid: (id) =>
      'TRWAGMYFPDXBNJZSQVHLCKE'[Number(id.slice(0, -1).replace(/^[XYZ]/, (l) => String('XYZ'.indexOf(l)))) % 23] ===
      id.at(-1),
  },
  // Italy: codice fiscale.
  {
    pattern: /(?<![A-Za-z\d])[A-Za-z]{6}\d{2}[A-EHLMPR-Ta-ehlmpr-t]\d{2}[A-Za-z]\d{3}[A-Za-z](?![A-Za-z\d])/g,
    least: { digits: 7, letters: 9 },
    begins: ANY,
    isValid: isCodiceFiscale,
  },
  // Brazil: CPF.
  {
    pattern: /(?<!\d)\d{3}\.?\d{3}\.?\d{3}-?\d{2}(?!\d)/g,
    least: { digits: 11, letters: 0, alone: 11 },
    begins: toBits(3, 6, 9, 11),
    isValid: isCpf,
  },
  // France: numéro de sécurité sociale.
  {
    pattern: /(?<!\d)[12] ?\d{2} ?\d{2} ?\d[\dABab] ?\d{3} ?\d{3} ?\d{2}(?!\d)/g,
    least: { digits: 14, letters: 0, alone: 15 },
    begins: toBits(1, 3, 5, 6, 7, 10, 13, 15),
    isValid: (id) => {
      const number = id.slice(0, 13).replace('2A', '19').replace('2B', '18');
      return /^\d+$/.test(number) && 97 - (Number(number) % 97) === Number(id.slice(13));
    },
  },
  // India: Aadhaar.
  {
    pattern: /(?<!\d)[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}(?!\d)/g,
    least: { digits: 12, letters: 0, alone: 12 },
    begins: toBits(4, 8, 12),
    isValid: isVerhoeff,
  },
  // Poland: PESEL.
  {
    pattern: /(?<!\d)\d{2}[0-3]\d[0-3]\d{6}(?!\d)/g,
    least: { digits: 11, letters: 0, alone: 11 },
    begins: toBits(11),
    isValid: (id) => weigh(id, PESEL) % 10 === 0,
  },
];

/** Its digits, its letters, and how many digits stand together somewhere in it, as `toBits` has them. */
function count(text: string): { digits: number; letters: number; groups: number } {
  let digits = 0;
  let letters = 0;
  let groups = 0;
  let group = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 48 && code <= 57) {
      digits += 1;
      group += 1;
      continue;
    }
    groups |= 1 << Math.min(group, MOST_TOGETHER);
    group = 0;
    if ((code >= 97 && code <= 122) || (code >= 65 && code <= 90)) letters += 1;
  }
  return { digits, letters, groups: groups | (1 << Math.min(group, MOST_TOGETHER)) };
}

function digitAt(id: string, at: number): number {
  return id.charCodeAt(at) - 48;
}

function weigh(id: string, weights: readonly number[]): number {
  let sum = 0;
  for (let at = 0; at < weights.length; at++) sum += (weights[at] as number) * digitAt(id, at);
  return sum;
}

function isCpf(id: string): boolean {
  const isChecked = (weights: readonly number[]): boolean =>
    ((weigh(id, weights) * 10) % 11) % 10 === digitAt(id, weights.length);
  return isChecked(CPF_FIRST) && isChecked(CPF_SECOND) && !/^(\d)\1+$/.test(id);
}

const ODD = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];

function isCodiceFiscale(id: string): boolean {
  let sum = 0;
  for (let at = 0; at < 15; at++) {
    const char = id[at] as string;
    const value = /\d/.test(char) ? Number(char) : char.charCodeAt(0) - 65;
    sum += at % 2 === 0 ? (ODD[value] as number) : value;
  }
  return String.fromCharCode(65 + (sum % 26)) === id[15];
}

/** The dihedral group of ten, as digits are multiplied in it, and what each place does to its digit. */
function isVerhoeff(id: string): boolean {
  let check = 0;
  for (let at = 0; at < id.length; at++) {
    const digit = STEPS[(at % 8) * 10 + digitAt(id, id.length - 1 - at)] as number;
    check = toTimes(check, digit);
  }
  return check === 0;
}

function toTimes(a: number, b: number): number {
  if (a < 5) return b < 5 ? (a + b) % 5 : ((a + b) % 5) + 5;
  return b < 5 ? ((a - b + 5) % 5) + 5 : (a - b + 5) % 5;
}

/** What each digit is, taken so many steps on. */
function toSteps(): Uint8Array {
  const step = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
  const steps = new Uint8Array(80);
  for (let at = 0; at < 80; at++) steps[at] = at < 10 ? at : (step[steps[at - 10] as number] as number);
  return steps;
}

const STEPS = toSteps();
