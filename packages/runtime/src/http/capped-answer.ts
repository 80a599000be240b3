export interface CapOptions {
  /** Bytes, as they are read: of an answer that came compressed, more than were sent. */
  mostBytes: number;
  /** What is said of more. */
  tooLong(): Error;
  /** Of an event stream, whose events are read one by one: the most that one of them has. Default: all together. */
  byEvent?: boolean;
}

/** The answer, whose body breaks off after so many bytes: whoever sends one without an end fills no memory. */
export function capAnswer(answer: Response, options: CapOptions): Response {
  const { body, status, statusText, headers } = answer;
  if (!body) return answer;
  const { mostBytes, tooLong, byEvent = false } = options;
  if (!byEvent && Number(headers.get('content-length') ?? 0) > mostBytes) {
    body.cancel().catch(() => {});
    throw tooLong();
  }
  const sizeOf = byEvent ? createEventSize() : createSize();
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (sizeOf(chunk) > mostBytes) throw tooLong();
      controller.enqueue(chunk);
    },
  });
  return new Response(body.pipeThrough(counter), { status, statusText, headers });
}

// --- internal ---

type Size = (chunk: Uint8Array) => number;

function createSize(): Size {
  let size = 0;
  return (chunk) => (size += chunk.byteLength);
}

/** Since the last empty line: what a reader of events holds. One that is cut in two by the end of a chunk is not seen. */
function createEventSize(): Size {
  let size = 0;
  return (chunk) => {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const end = Math.max(...EMPTY_LINES.map((line) => bytes.lastIndexOf(line)));
    size = end < 0 ? size + bytes.length : bytes.length - end;
    return size;
  };
}

const EMPTY_LINES = ['\n\n', '\n\r\n', '\r\r'];
