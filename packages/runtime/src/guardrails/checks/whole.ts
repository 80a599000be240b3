/** What a rule judges as a whole. */
export interface Subject {
  text: string;
  /** Where it is no text: what it is the JSON of. */
  value?: unknown;
  signal?: AbortSignal | undefined;
  askModel?: AskModel | undefined;
}

/** Says why it is a hit; undefined: it is none. */
export type Judge = (subject: Subject) => Promise<string | undefined> | string | undefined;

/** What a model is asked about a text. */
export interface ModelQuestion {
  /** Undefined: the default model of the box. */
  model: string | undefined;
  instructions: string;
  text: string;
  /** JSON Schema of the answer. */
  schema: Record<string, unknown>;
  /** Milliseconds. */
  timeout: number;
}

/** Answers what the model writes. Throws where none can be asked, or none answers in time. */
export type AskModel = (question: ModelQuestion, signal: AbortSignal) => Promise<string>;
