/** Finds secrets in base64, whatever stands before them in what was encoded. */
export interface EncodedSecrets {
  add(secret: string): void;
  /** The text with each of them in place of `[hidden]`. Its cost grows with the text, not with how many secrets there are. */
  hide(text: string, hidden: string): string;
}

/** By Rabin and Karp: the hash of as many characters as the shortest form has goes along the text. */
export function createEncodedSecrets(): EncodedSecrets {
  /** Forms by the hash of their first characters. */
  const forms = new Map<number, string[]>();

  const findAt = (text: string, at: number, hash: number): string | undefined =>
    forms.get(hash)?.find((form) => text.startsWith(form, at));

  return {
    add(secret) {
      for (const form of listEncodings(secret)) {
        const hash = hashOf(form);
        const known = forms.get(hash) ?? [];
        if (!known.includes(form))
          forms.set(
            hash,
            [...known, form].toSorted((a, b) => b.length - a.length),
          );
      }
    },
    hide(text, hidden) {
      if (forms.size === 0 || text.length < WINDOW) return text;
      let out = '';
      let done = 0;
      let hash = hashOf(text);
      for (let at = 0; at + WINDOW <= text.length; at++) {
        const form = at >= done ? findAt(text, at, hash) : undefined;
        if (form !== undefined) {
          out += text.slice(done, at) + hidden;
          done = at + form.length;
        }
        hash = roll(hash, text.charCodeAt(at), text.charCodeAt(at + WINDOW));
      }
      return done === 0 ? text : out + text.slice(done);
    },
  };
}

/**
 * What is the secret's own in the base64 of a text that holds it, where that is long enough to be looked for. It begins at one
 * of three places of a group of bytes. What it shares a character with at either end is not its own.
 */
export function listEncodings(secret: string): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
    const own = bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6));
    return own.length < WINDOW ? [] : [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

// --- internal ---

/** Characters; a secret of nine bytes has as many that are its own, wherever it is. */
const WINDOW = 12;
const BASE = 257;
/** Of the character that leaves the window. */
const LAST = power(BASE, WINDOW - 1);

function power(base: number, exponent: number): number {
  let value = 1;
  for (let n = 0; n < exponent; n++) value = Math.imul(value, base);
  return value;
}

function hashOf(text: string): number {
  let hash = 0;
  for (let at = 0; at < WINDOW; at++) hash = (Math.imul(hash, BASE) + text.charCodeAt(at)) | 0;
  return hash;
}

function roll(hash: number, leaving: number, coming: number): number {
  return (Math.imul(hash - Math.imul(leaving, LAST), BASE) + coming) | 0;
}
