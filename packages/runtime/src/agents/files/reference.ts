/** What stands for the bytes of a file in a message that is recorded. */
export interface FileReference {
  /** SHA-256 of the bytes, in hex. */
  digest: string;
  /** In bytes. */
  size: number;
  mediaType: string;
  /** The bytes stood there as base64 alone, and not as a data: URL. */
  isPlain: boolean;
}

/** What a reference begins with. No other text in such a place does, in a message that is recorded. */
export const REFERENCE = 'svc-file:';

export function toReference({ digest, size, mediaType, isPlain }: FileReference): string {
  const facts = new URLSearchParams({ size: String(size), type: mediaType, ...(isPlain ? { plain: '1' } : {}) });
  return `${REFERENCE}${digest}?${facts}`;
}

/** Undefined: the text is none. */
export function parseReference(text: string): FileReference | undefined {
  const [, digest, query] = FORM.exec(text.slice(0, LONGEST)) ?? [];
  if (digest === undefined) return undefined;
  const facts = new URLSearchParams(query);
  return {
    digest,
    size: Number(facts.get('size') ?? 0),
    mediaType: facts.get('type') ?? 'application/octet-stream',
    isPlain: facts.has('plain'),
  };
}

// --- internal ---

const LONGEST = 2_048;
const FORM = /^svc-file:([\da-f]{64})(?:\?(.*))?$/;
