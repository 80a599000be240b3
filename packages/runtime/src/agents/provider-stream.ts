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
  let isWhole = false;
  for await (const events of readEvents(response.body)) {
    isWhole ||= events.some((data) => data.trim() === '[DONE]');
    const chunks = events.map(parse).filter((chunk) => chunk !== undefined);
    if (chunks.length > 0) yield chunks;
  }
  return { isWhole };
}

// --- internal ---

/** The data of each server-sent event, by what came together; the last one may lack its empty line. */
async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string[]> {
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
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split(/\r\n|\n|\r(?=[^\n])/);
    rest = lines.pop() ?? '';
    yield takeAll(lines);
  }
  yield takeAll([rest.trimEnd(), '']);
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
