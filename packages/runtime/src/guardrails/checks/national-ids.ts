type Place = readonly [start: number, end: number];

/** Numbers of persons of several states, by their form and, where they have them, their check digits. */
export function findNationalIds(text: string): Place[] {
  return FORMS.flatMap(({ pattern, isValid }) =>
    [...text.matchAll(pattern)]
      .filter(({ 0: found }) => isValid(found.replace(/[ .\-/\u00a0]/g, '').toUpperCase()))
      .map(({ index, 0: found }): Place => [index, index + found.length]),
  );
}

// --- internal ---

interface Form {
  pattern: RegExp;
  /** Of its letters and digits. */
  isValid(id: string): boolean;
}

const FORMS: readonly Form[] = [
  // United States: social security number.
  { pattern: /(?<!\d)(?!000|666|9)\d{3}[- ](?!00)\d{2}[- ](?!0000)\d{4}(?!\d)/g, isValid: () => true },
  // United Kingdom: national insurance number.
  {
    pattern: /(?<![A-Za-z])[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?![A-Za-z])/g,
    isValid: (id) => !/^(?:BG|GB|KN|NK|NT|TN|ZZ)/.test(id),
  },
  // Spain: DNI and NIE.
  {
    pattern: /(?<![A-Za-z\d])(?:\d{8}|[XYZxyz]-?\d{7})-?[A-Za-z](?![A-Za-z\d])/g,
    isValid: (id) =>
      'TRWAGMYFPDXBNJZSQVHLCKE'[Number(id.slice(0, -1).replace(/^[XYZ]/, (l) => String('XYZ'.indexOf(l)))) % 23] ===
      id.at(-1),
  },
  // Italy: codice fiscale.
  {
    pattern: /(?<![A-Za-z\d])[A-Za-z]{6}\d{2}[A-EHLMPR-Ta-ehlmpr-t]\d{2}[A-Za-z]\d{3}[A-Za-z](?![A-Za-z\d])/g,
    isValid: isCodiceFiscale,
  },
  // Brazil: CPF.
  { pattern: /(?<!\d)\d{3}\.?\d{3}\.?\d{3}-?\d{2}(?!\d)/g, isValid: isCpf },
  // France: numéro de sécurité sociale.
  {
    pattern: /(?<!\d)[12] ?\d{2} ?\d{2} ?\d[\dABab] ?\d{3} ?\d{3} ?\d{2}(?!\d)/g,
    isValid: (id) => {
      const number = id.slice(0, 13).replace('2A', '19').replace('2B', '18');
      return /^\d+$/.test(number) && 97 - (Number(number) % 97) === Number(id.slice(13));
    },
  },
  // India: Aadhaar.
  { pattern: /(?<!\d)[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}(?!\d)/g, isValid: isVerhoeff },
  // Poland: PESEL.
  {
    pattern: /(?<!\d)\d{2}[0-3]\d[0-3]\d{6}(?!\d)/g,
    isValid: (id) => weigh(id, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0,
  },
];

function weigh(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, at) => sum + weight * Number(digits[at]), 0);
}

function isCpf(id: string): boolean {
  if (/^(\d)\1+$/.test(id)) return false;
  const digitOf = (length: number): number => {
    const weights = Array.from({ length }, (_, at) => length + 1 - at);
    return ((weigh(id, weights) * 10) % 11) % 10;
  };
  return digitOf(9) === Number(id[9]) && digitOf(10) === Number(id[10]);
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
  const times = (a: number, b: number): number => {
    if (a < 5) return b < 5 ? (a + b) % 5 : ((a + b) % 5) + 5;
    return b < 5 ? ((a - b + 5) % 5) + 5 : (a - b + 5) % 5;
  };
  const step = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
  let check = 0;
  for (let at = 0; at < id.length; at++) {
    let digit = Number(id[id.length - 1 - at]);
    for (let n = 0; n < at % 8; n++) digit = step[digit] as number;
    check = times(check, digit);
  }
  return check === 0;
}
