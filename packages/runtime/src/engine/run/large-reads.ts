import { decodeRef } from '../values/large-ref.ts';

export interface LargeReadsOptions {
  /** Settles once the value is read, or it is known that it is gone. */
  read(ref: string): Promise<string>;
  /** One of them is there. */
  onChange(): void;
}

/** Values of one run that are in object storage, on their way to its body: those that are next, a few of them ahead. */
export class LargeReads {
  readonly #options: LargeReadsOptions;
  readonly #found = new Map<string, Found | undefined>();

  constructor(options: LargeReadsOptions) {
    this.#options = options;
  }

  isThere(ref: string): boolean {
    return this.#found.get(ref) !== undefined;
  }

  /** Begins to read the first of them, and as many of the others as have room beside it. */
  begin([first, ...others]: [string, ...string[]]): void {
    this.#begin(first);
    let bytes = decodeRef(first).bytes;
    for (const ref of others) {
      bytes += decodeRef(ref).bytes;
      if (bytes > AHEAD_BYTES) return;
      this.#begin(ref);
    }
  }

  /** The value, once it is there: it is not kept any longer. Throws why it cannot be read. */
  take(ref: string): string {
    const found = this.#found.get(ref);
    this.#found.delete(ref);
    if (!found || 'error' in found) throw found?.error ?? new Error('The value has not been read.');
    return found.text;
  }

  // --- internal ---

  #begin(ref: string): void {
    if (this.#found.has(ref)) return;
    this.#found.set(ref, undefined);
    const { read, onChange } = this.#options;
    const end = (found: Found): void => {
      this.#found.set(ref, found);
      onChange();
    };
    read(ref).then(
      (text) => end({ text }),
      (error: unknown) => end({ error }),
    );
  }
}

// --- internal ---

type Found = { text: string } | { error: unknown };

/** What is read ahead of the body, in sum; the one it waits for is read whatever its size. */
const AHEAD_BYTES = 16 * 1_048_576;
