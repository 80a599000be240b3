import { createYielder } from '../../yielder.ts';

/** Where a part of a message has the bytes of a file, or what stands for them. */
export interface Place {
  /** The kind of part. */
  kind: 'image_url' | 'video_url' | 'file' | 'input_audio';
  text: string;
  /** How the bytes of sound are written, such as `mp3`. */
  format?: string;
  /** The name of the file. */
  name?: string;
  /** The part with this in its place; `svc`: what is known of a file that is shown. */
  fill(text: string, svc?: ShownFile): object;
}

/** What a part that is shown says of its file, beside its address. */
export interface ShownFile {
  mediaType: string;
  /** In bytes. */
  size: number;
}

/** Undefined: a part without such a place, such as a text. */
export function placeIn(part: unknown): Place | undefined {
  if (typeof part !== 'object' || part === null) return undefined;
  for (const [kind, member] of PLACES) {
    const holder = (part as Record<string, unknown>)[kind] as Record<string, unknown> | null | undefined;
    const text = holder?.[member];
    if (typeof text !== 'string') continue;
    const { svc: _shown, ...rest } = part as Record<string, unknown>;
    return {
      kind,
      text,
      ...(typeof holder?.['format'] === 'string' ? { format: holder['format'] } : {}),
      ...(typeof holder?.['filename'] === 'string' ? { name: holder['filename'] } : {}),
      fill: (next, svc) => ({ ...rest, [kind]: { ...holder, [member]: next }, ...(svc ? { svc } : {}) }),
    };
  }
  return undefined;
}

/** The messages with other parts in place of those that have a file; undefined: without that part. */
export async function mapFiles<M extends { content: unknown }>(
  messages: readonly M[],
  change: (place: Place, part: object, message: M) => Promise<object | undefined>,
): Promise<M[]> {
  const yielder = createYielder();
  const changed: M[] = [];
  for (const message of messages) {
    const { content } = message;
    if (!Array.isArray(content) || !content.some((part) => placeIn(part))) {
      changed.push(message);
      continue;
    }
    const parts: unknown[] = [];
    for (const part of content as unknown[]) {
      await yielder.yieldIfDue();
      const place = placeIn(part);
      const next = place ? await change(place, part as object, message) : part;
      if (next !== undefined) parts.push(next);
    }
    changed.push({ ...message, content: parts });
  }
  return changed;
}

// --- internal ---

const PLACES = [
  ['image_url', 'url'],
  ['video_url', 'url'],
  ['file', 'file_data'],
  ['input_audio', 'data'],
] as const;
