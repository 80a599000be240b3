import { createHash } from 'node:crypto';
import type { Metadata, TextFormat } from './schemas.ts';

/**
 * A document, as it is added. Whatever it was before, a file of some format, it comes here as one text: a parser hands over
 * the text, whether it is Markdown, and where its pages begin. The places of chunks are places in this text.
 */
export interface Source {
  id: string;
  title: string | null;
  metadata: Metadata;
  format: TextFormat;
  text: string;
  /** Where in the text each page begins, ascending, the first at 0. Null: it has none. */
  pages: number[] | null;
}

/** What is the same for the same text. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** What a text is when no one says: Markdown has headings, and a plain text may be read as such. */
export const DEFAULT_FORMAT: TextFormat = 'markdown';
