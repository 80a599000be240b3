import type { Frame } from '../frames.ts';
import type { Style } from '../style.ts';
import type { StreamRecord } from '../verb.ts';
import type { Row } from './columns.ts';

/** How the frames of a stream become records. */
export interface StreamForm {
  /** Another operation that answers it, when the input asks for that. Throws when the input fits neither. */
  choose?(input: Row): { operation: string; input: Row } | undefined;
  human(event: string, data: Row, style: Style): string | undefined;
}

/** A record for each frame, its event as `type`. Frames between a box and its client alone are left out. */
export async function* toRecords(frames: AsyncIterable<Frame>, form: StreamForm): AsyncGenerator<StreamRecord> {
  for await (const { event, data = '' } of frames) {
    if (HIDDEN.includes(event)) continue;
    const row = JSON.parse(data) as Row;
    yield { data: { type: event, ...row }, human: (style) => form.human(event, row, style) };
  }
}

// --- internal ---

/** What follows them is a new connection. */
const HIDDEN = ['auth_expired'];
