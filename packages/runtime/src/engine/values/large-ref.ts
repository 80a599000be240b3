/** The first character of a value whose text is in object storage: this one names it there. */
const REF_FORMAT = '3';

/** What the journal keeps of a value that is in object storage. */
export interface LargeRef {
  /** The run whose object it is. */
  run: string;
  /** Of its text. */
  bytes: number;
  /** SHA-256 of its text. */
  digest: string;
}

export type RefText = `${typeof REF_FORMAT}${string}`;

/** Whether the value is in object storage. */
export function isRef(text: string | null): text is RefText {
  return text !== null && text.startsWith(REF_FORMAT);
}

export function encodeRef({ run, bytes, digest }: LargeRef): string {
  return REF_FORMAT + JSON.stringify({ run, bytes, digest });
}

export function decodeRef(text: string): LargeRef {
  return JSON.parse(text.slice(1)) as LargeRef;
}

/** The bytes of a value, wherever it is. */
export function bytesOf(text: string | null): number {
  return isRef(text) ? decodeRef(text).bytes : (text?.length ?? 0);
}

/** What stands for the value where it is shown and not read: its size. */
export function refToShow(text: string): { $stored: { bytes: number; digest: string } } {
  const { bytes, digest } = decodeRef(text);
  return { $stored: { bytes, digest } };
}
