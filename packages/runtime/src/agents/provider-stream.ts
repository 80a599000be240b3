/** One piece of a provider's answer, as it came. */
export type ProviderChunk = Record<string, unknown>;

/** What came of an answer besides its pieces. */
export interface StreamEnd {
  /** The provider said that this was all, with `[DONE]` or by answering one JSON document. */
  isWhole: boolean;
}

/**
 * The pieces of a provider's answer, as many at once as the network brought: one by one, the promises of each would take
 * longer than its parsing. A provider that does not stream answers one JSON document: that is one piece.
 */
export async function* readProvider(response: Response): AsyncGenerator<ProviderChunk[], StreamEnd> {
  if (!response.body) return { isWhole: false };
  if (/\bjson\b/i.test(response.headers.get('content-type') ?? '')) {
    const whole = parse(await response.text());
    if (whole) yield [toChunk(whole)];
    return { isWhole: true };
  }
  const events = createEventReader();
  let isWhole = false;
  const read = (found: string[]): ProviderChunk[] => {
    isWhole ||= found.some((data) => data.trim() === '[DONE]');
    return found.map(parse).filter((chunk) => chunk !== undefined);
  };
  for await (const bytes of response.body) {
    const chunks = read(events.push(bytes));
    if (chunks.length > 0) yield chunks;
  }
  const chunks = read(events.end());
  if (chunks.length > 0) yield chunks;
  return { isWhole };
}

// --- internal ---

/** The data of server-sent events, by what came together; the last one may lack its empty line. */
function createEventReader(): { push(bytes: Uint8Array): string[]; end(): string[] } {
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  const take = (line: string): string | undefined => {
    if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
    if (line !== '' || data.length === 0) return undefined;
    const event = data.join('\n');
    data = [];
    return event;
  };
  const takeAll = (lines: string[]): string[] => lines.map(take).filter((event) => event !== undefined);
  return {
    push(bytes) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split(/\r\n|\n|\r(?=[^\n])/);
      rest = lines.pop() ?? '';
      return takeAll(lines);
    },
    end: () => takeAll([rest.trimEnd(), '']),
  };
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
