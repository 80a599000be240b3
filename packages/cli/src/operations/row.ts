/** An input or an answer of an operation. */
export type Row = Record<string, unknown>;
