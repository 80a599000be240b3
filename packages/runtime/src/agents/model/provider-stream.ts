import { BoxError } from '../../errors.ts';

/** One piece of a provider's answer, as it came. */
export type ProviderChunk = Record<string, unknown>;

/** What came of an answer besides its pieces. */
export interface StreamEnd {
  /** The provider said that this was all, with `[DONE]` or by answering one JSON document. */
  isWhole: boolean;
}

/**
 * The pieces of a provider's answer, as many at once as the network brought: one by one, the promises of each would take
 * longer than its parsing. A provider that does not stream answers one JSON document: that is one piece. Which it is, is
 * told by how it begins; content types are often another's.
 */
export async function* readProvider({ body }: Response): AsyncGenerator<ProviderChunk[], StreamEnd> {
  if (!body) return { isWhole: false };
  const events = createEventReader();
  const decoder = new TextDecoder();
  const document: string[] = [];
  let size = 0;
  let begins = '';
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
        size = requirePiece(size + text.length);
        document.push(text);
        continue;
      }
      const chunks = read(events.push(text));
      if (chunks.length > 0) yield chunks;
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

/** How long an answer that is whole is read on, until its connection is free for the next one. */
const LONGEST_LINGER_MS = 500;

/** Lets go of the connection of an answer whose end is not told. */
function createLinger(body: ReadableStream): { begin(): void; end(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    begin: () => (timer ??= setTimeout(() => void body.cancel().catch(() => {}), LONGEST_LINGER_MS)),
    end: () => clearTimeout(timer),
  };
}

/** The data of server-sent events, by what came together; the last one may lack its empty line. */
function createEventReader(): { push(text: string): string[]; end(): string[] } {
  /** The last line so far. */
  let rest: string[] = [];
  let restSize = 0;
  let data: string[] = [];
  let dataSize = 0;
  const take = (line: string): string | undefined => {
    if (line.startsWith('data:')) {
      data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
      dataSize = requirePiece(dataSize + line.length);
    }
    if (line !== '' || data.length === 0) return undefined;
    const event = data.join('\n');
    data = [];
    dataSize = 0;
    return event;
  };
  const takeAll = (lines: string[]): string[] => lines.map(take).filter((event) => event !== undefined);
  return {
    push(text) {
      if (text === '') return [];
      rest.push(text);
      restSize = requirePiece(restSize + text.length);
      // A long line comes in many parts: it is looked through once.
      if (!/[\r\n]/.test(text) && !rest.at(-2)?.endsWith('\r')) return [];
      const lines = rest.join('').split(/\r\n|\n|\r(?=[^\n])/);
      const last = lines.pop() ?? '';
      rest = [last];
      restSize = last.length;
      return takeAll(lines);
    },
    end: () => takeAll([rest.join('').trimEnd(), '']),
  };
}

/** Characters of one event, or of an answer that is not streamed: what is recorded of it is a part of that. */
const LONGEST_PIECE = 16_777_216;

function requirePiece(size: number): number {
  if (size <= LONGEST_PIECE) return size;
  throw new BoxError(
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
