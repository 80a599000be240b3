import { BoxError } from '../../errors.ts';

export const FILE_KINDS = ['text', 'markdown', 'html', 'csv', 'json', 'pdf', 'docx'] as const;
export type FileKind = (typeof FILE_KINDS)[number];

/**
 * What a file is read as: what its sender says it is, or else what its name ends with. Throws `file_type_unsupported`.
 *
 * @param type a media type; of those that clients send by themselves, as `text/plain`, the name knows better
 */
export function kindOf({ name, type }: { name: string; type: string | null }): FileKind {
  const [media = ''] = (type ?? '').toLowerCase().split(';');
  const ending = /\.([a-z0-9]{1,10})$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const kind = BY_TYPE.get(media.trim()) ?? BY_ENDING.get(ending) ?? (media.startsWith('text/') ? 'text' : undefined);
  if (kind) return kind;
  const known = [...BY_ENDING.keys()].map((each) => `.${each}`).join(', ');
  const message = `The file "${name}"${media ? ` of the type "${media.trim()}"` : ''} cannot be read. Those that can: ${known}.`;
  throw new BoxError('file_type_unsupported', message);
}

/** The character set a media type names. */
export function charsetOf(type: string | null): string | undefined {
  return /;\s*charset\s*=\s*"?([\w-]{1,40})/i.exec(type ?? '')?.[1];
}

// --- internal ---

const BY_TYPE = new Map<string, FileKind>([
  ['text/markdown', 'markdown'],
  ['text/x-markdown', 'markdown'],
  ['text/html', 'html'],
  ['application/xhtml+xml', 'html'],
  ['text/csv', 'csv'],
  ['text/tab-separated-values', 'csv'],
  ['application/json', 'json'],
  ['application/x-ndjson', 'json'],
  ['application/pdf', 'pdf'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
]);

const BY_ENDING = new Map<string, FileKind>([
  ['txt', 'text'],
  ['text', 'text'],
  ['log', 'text'],
  ['md', 'markdown'],
  ['markdown', 'markdown'],
  ['mdx', 'markdown'],
  ['html', 'html'],
  ['htm', 'html'],
  ['csv', 'csv'],
  ['tsv', 'csv'],
  ['json', 'json'],
  ['jsonl', 'json'],
  ['ndjson', 'json'],
  ['pdf', 'pdf'],
  ['docx', 'docx'],
]);
