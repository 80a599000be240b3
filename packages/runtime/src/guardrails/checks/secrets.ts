type Place = readonly [start: number, end: number];

/** Keys and tokens, by how they begin. */
export function findSecrets(text: string): Place[] {
  const places: Place[] = [];
  if (!BEGINNINGS.test(text)) return places;
  for (const form of FORMS) addPlaces(form, text, places);
  addPlaces(CREDENTIALS, text, places);
  addPrivateKeys(text, places);
  return places;
}

/** What a private key looks like, from the dashes it begins with. */
export const PRIVATE_KEY = {
  longestHeading: 64,
  longestEnd: 64,
  isHeading: (text: string): boolean => /^-?BEGIN [A-Z ]{0,30}PRIVATE KEY-----/.test(text),
  isWhole: (text: string): boolean => /-----END [A-Z ]{0,30}PRIVATE KEY-----$/.test(text),
};

// --- internal ---

/** One of these is in each of them. */
const BEGINNINGS =
  /sk-|[sr]k_|AKIA|ASIA|gh[opsur]_|github_|glpat-|xox|AIza|ya29|npm_|pypi-|hf_|SG\.|dop_|svc_|eyJ|bearer|basic|-----BEGIN /i;

const FORMS: readonly RegExp[] = [
  // OpenAI and Anthropic, and those that followed them.
  /sk-[A-Za-z0-9_-]{20,}/g,
  /[sr]k_(?:live|test)_[A-Za-z0-9]{16,}/g,
  /(?:AKIA|ASIA)[0-9A-Z]{16}/g,
  /gh[opsur]_[A-Za-z0-9]{36,}/g,
  /github_pat_[A-Za-z0-9_]{22,}/g,
  /glpat-[A-Za-z0-9_-]{20,}/g,
  /xox[abeprs]-[A-Za-z0-9-]{10,}/g,
  /AIza[0-9A-Za-z_-]{35}/g,
  /ya29\.[0-9A-Za-z_-]{20,}/g,
  /npm_[A-Za-z0-9]{36}/g,
  /pypi-[A-Za-z0-9_-]{16,}/g,
  /hf_[A-Za-z0-9]{30,}/g,
  /SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/g,
  /dop_v1_[a-f0-9]{64}/g,
  /svc_[A-Za-z0-9_-]{24,}/g,
  // JSON Web Tokens.
  /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
];
const CREDENTIALS = /\b(?:bearer|basic)[ \u00a0]([A-Za-z0-9._~+/=-]{16,})/gi;

/** Of a form with a group, where that is, which is its end. */
function addPlaces(form: RegExp, text: string, places: Place[]): void {
  form.lastIndex = 0;
  for (let match = form.exec(text); match; match = form.exec(text)) {
    const [found, token = found] = match;
    const end = match.index + found.length;
    places.push([end - token.length, end]);
  }
}

function addPrivateKeys(text: string, places: Place[]): void {
  // The next ending, which many beginnings may have before them. Below zero: there is none.
  let end = 0;
  let last = -1;
  for (let at = text.indexOf(BEGIN); at >= 0; at = text.indexOf(BEGIN, at + 1)) {
    if (!PRIVATE_KEY.isHeading(text.slice(at + 5, at + 5 + PRIVATE_KEY.longestHeading))) continue;
    if (end >= 0 && end <= at) {
      end = text.indexOf('-----END ', at);
      last = end < 0 ? -1 : text.indexOf('-----', end + 9);
    }
    places.push([at, last < 0 ? text.length : last + 5]);
  }
}

const BEGIN = '-----BEGIN ';
