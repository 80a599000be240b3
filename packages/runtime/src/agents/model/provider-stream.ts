import { createParser } from 'eventsource-parser';
import { BoxError } from '../../errors.ts';
import { yieldOnce } from '../../yielder.ts';

/** One piece of a provider's answer, as it came. */
export type ProviderChunk = Record<string, unknown>;

/** The outcome of an answer besides its pieces. */
export interface StreamEnd {
  /** The provider said that this was all, with `[DONE]` or by answering one JSON document. */
  isWhole: boolean;
}

/**
 * The pieces of a provider's answer, as many at once as the network brought: one by one, the promises of each would take
 * longer than its parsing. A provider that does not stream answers one JSON document: that is one piece. How it begins
 * says which it is; content types are often another's.
 */
export async function* readProvider({ body }: Response): AsyncGenerator<ProviderChunk[], StreamEnd> {
  if (!body) return { isWhole: false };
  const events = createEventReader();
  const decoder = new TextDecoder();
  const document: string[] = [];
  let size = 0;
  let begins = '';
  let begun = 0;
  let isWhole = false;
  const read = (found: string[]): ProviderChunk[] => {
    isWhole ||= found.some((data) => data.trim() === '[DONE]');
    return found.map(parse).filter((chunk) => chunk !== undefined);
  };
  const lingering = createLinger(body);
  try {
    for await (const bytes of body) {
      const text = decoder.decode(bytes, { stream: true });
      begins ||= text.trimStart().slice(0, 1);
      if (begins === '{') {
        size += text.length;
        if (size > LONGEST_PIECE) throw pieceTooLong();
        document.push(text);
        continue;
      }
      const beginning = text.slice(0, Math.max(0, BEGINNING - begun));
      begun += beginning.length;
      for (const part of beginning === '' || beginning.length === text.length
        ? [text]
        : [beginning, text.slice(beginning.length)]) {
        const chunks = read(events.push(part));
        if (chunks.length > 0) yield chunks;
        // Its reader has the beginning before the rest is parsed and judged.
        if (part === beginning && part.length < text.length) await yieldOnce();
      }
      if (isWhole) lingering.begin();
    }
  } catch (error) {
    // Nothing more was to come.
    if (!isWhole) throw error;
  } finally {
    lingering.end();
  }
  const whole = document.length > 0 ? parse(document.join('')) : undefined;
  const chunks = whole ? [toChunk(whole)] : read(events.end());
  if (chunks.length > 0) yield chunks;
  return { isWhole: isWhole || whole !== undefined };
}

// --- internal ---

/** Characters of an answer that is sent in one burst that are passed on by themselves: some ten pieces. */
const BEGINNING = 2_048;

/** How long an answer that is whole is read on, until its connection is free for the next one. */
const LONGEST_LINGER_MS = 500;

/** Frees the connection of an answer whose end does not come. */
function createLinger(body: ReadableStream): { begin(): void; end(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    begin: () => (timer ??= setTimeout(() => void body.cancel().catch(() => {}), LONGEST_LINGER_MS)),
    end: () => clearTimeout(timer),
  };
}

/** The data of server-sent events, by what came together; the last one may lack its empty line. */
function createEventReader(): { push(text: string): string[]; end(): string[] } {
  let found: string[] = [];
  const parser = createParser({
    maxBufferSize: LONGEST_PIECE,
    onEvent: ({ data }) => void found.push(data),
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') throw pieceTooLong();
    },
  });
  const push = (text: string): string[] => {
    found = [];
    parser.feed(text);
    return found;
  };
  return { push, end: () => push('\n\n') };
}

/** Characters of one event, or of an answer that is not streamed: what is recorded of it is a part of that. */
const LONGEST_PIECE = 16_777_216;

function pieceTooLong(): BoxError {
  return new BoxError(
    'model_provider_failed',
    `The model provider failed: It sent more than ${LONGEST_PIECE} characters in one piece.`,
  );
}

/** A piece that is no JSON object says nothing: some providers write words to keep the connection open. */
function parse(text: string): ProviderChunk | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ProviderChunk) : undefined;
  } catch {
    return undefined;
  }
}

/** A whole answer in the form of a piece: its message as the one delta. */
function toChunk(whole: ProviderChunk): ProviderChunk {
  const choices = Array.isArray(whole.choices) ? (whole.choices as (ProviderChunk | null)[]) : [];
  return { ...whole, choices: choices.map((choice) => ({ ...choice, delta: choice?.delta ?? choice?.message })) };
}
