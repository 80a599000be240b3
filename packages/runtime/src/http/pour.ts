import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';

/**
 * Hands on the body of a message no faster than it is taken, and its end: where both have come, in one write. A body that breaks
 * off is not ended; one that no one takes any more is read, and dropped.
 */
export function pour(from: IncomingMessage, to: Writable): void {
  from.on('data', (part: Buffer) => {
    if (to.destroyed) return;
    if (from.complete && from.readableLength === 0) to.end(part);
    else if (!to.write(part)) from.pause();
  });
  for (const event of ['drain', 'close']) to.on(event, () => from.resume());
  from.once('end', () => {
    if (from.complete && !to.writableEnded) to.end();
  });
}
