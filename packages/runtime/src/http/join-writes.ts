import type { Duplex } from 'node:stream';

/** Has what waits to be written to a stream of messages go as one: HTTP/2 writes the head of a frame and its content apart. */
export function joinWrites(duplex: Duplex): Duplex {
  duplex._writev = (waiting, callback) => {
    const parts = waiting.map(({ chunk }) => chunk as Buffer);
    const write = (from: number): void => {
      let to = from;
      for (let size = 0; to < parts.length && (size === 0 || size + partSize(to) <= MOST_BYTES); to++)
        size += partSize(to);
      const last = to === parts.length;
      const part = to - from === 1 ? parts[from] : Buffer.concat(parts.slice(from, to));
      duplex._write(part, 'buffer' as BufferEncoding, (error) => (error || last ? callback(error) : write(to)));
    };
    const partSize = (at: number): number => parts[at]?.length ?? 0;
    write(0);
  };
  return duplex;
}

// --- internal ---

/** Of one message; a part that is longer by itself goes as it is. */
const MOST_BYTES = 64 * 1_024;
