/** A place in a text, from its beginning. `label`: what is there, in a word. */
export interface Span {
  start: number;
  end: number;
  label: string;
}

/** A part of a text: `text` begins at `base`. */
export interface View {
  text: string;
  base: number;
  /** No more is to come. */
  isEnd: boolean;
}

/**
 * Looks for something in a text that comes in pieces. What it finds depends on the text alone, never on where it was cut:
 * it decides at places the text itself determines.
 */
export interface Finder {
  /** Reads on. The view has all from `decided` on, and `CONTEXT` characters before it. */
  read(view: View): void;
  /** What comes before this is known: more of it is not found. Of the last `read`; before the first: 0. */
  readonly decided: number;
  /** Found since the last call. */
  take(): Span[];
}

/** Makes one for a text. */
export type CreateFinder = () => Finder;

/** Characters before what is looked at that a finder may have to see. */
export const CONTEXT = 2;

/** What is looked for is no longer than half of this: a longer one is looked at in windows that overlap. */
export const WINDOW = 8_192;

/** Keeps what was found until it is taken. */
export function createFound(): { add(span: Span): void; take(): Span[] } {
  let spans: Span[] = [];
  return {
    add: (span) => void spans.push(span),
    take() {
      if (spans.length === 0) return spans;
      const taken = spans;
      spans = [];
      return taken;
    },
  };
}
