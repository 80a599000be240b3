import type { Frame } from '../client/frames.ts';
import type { JsonType } from '../payload/payload.ts';
import type { Style } from '../terminal/style.ts';
import type { StreamRecord } from '../verb.ts';
import type { Row } from './row.ts';

/** How the frames of a stream become records. */
export interface StreamForm {
  /** Another operation that answers it, when the input asks for that. Throws when the input fits neither. */
  choose?(input: Row): { operation: string; input: Row } | undefined;
  /** Each line of --json but the last, which says `end`. */
  lines: JsonType<object>;
  /** With --json: each line on stderr that is JSON. */
  stderr?: JsonType<object>;
  human(event: string, data: Row, style: Style): string | undefined;
}

/** A record for each frame, its event as `type`. */
export async function* toRecords(frames: AsyncIterable<Frame>, form: StreamForm): AsyncGenerator<StreamRecord> {
  for await (const { event, data = '' } of frames) {
    const row = JSON.parse(data) as Row;
    yield { data: { type: event, ...row }, human: (style) => form.human(event, row, style) };
  }
}
