import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { StorableText } from '../operations/inputs.ts';
import { MOST_FILE_BYTES } from './files/read-file.ts';
import type { Rag } from './rag.ts';
import { DOCUMENT_STATES, DocumentId, MetadataInput } from './schemas.ts';

const operation = operationsOf<{ rag: Rag }>();

/** A header holds ASCII: what else a name has is percent-encoded. */
const FileName = z
  .string()
  .transform((text, { addIssue }) => {
    try {
      return decodeURIComponent(text);
    } catch {
      addIssue('It is percent-encoded, and not by the rules');
      return z.NEVER;
    }
  })
  .pipe(DocumentId)
  .describe('What the file is called, percent-encoded: `report%202026.pdf`');

const MetadataText = z
  .string()
  .transform((text, { addIssue }) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      addIssue('It must be a JSON object');
      return z.NEVER;
    }
  })
  .pipe(MetadataInput)
  .describe('What searches filter by, as JSON: `{"team":"billing"}`');

export const uploadDocument = operation({
  id: 'rag.documents.upload',
  tag: 'rag',
  summary: 'Add a file as a document: its text is read at once and embedded soon after; the file is not kept',
  route: 'POST /api/rag/collections/:name/documents/upload',
  kind: 'write',
  permission: 'rag:write',
  copilot: 'no: upload',
  status: 202,
  errors: ['rag_collection_not_found', 'file_type_unsupported', 'file_unreadable', 'too_many_files'],
  headers: { 'content-type': 'type', 'x-svc-file-name': 'fileName' },
  file: { member: 'content', limit: MOST_FILE_BYTES, header: 'x-svc-file-name' },
  input: z.strictObject({
    name: z.string().max(63).describe('The name of the collection'),
    fileName: FileName,
    type: z.string().max(200).optional().describe('Its media type. Default: by the ending of its name'),
    id: DocumentId.optional().describe('The id of the document. Default: the name of the file'),
    title: StorableText.max(500).optional().describe('What sources call it. Default: as the file calls itself'),
    metadata: MetadataText.optional(),
    content: z.instanceof(Uint8Array<ArrayBuffer>).describe('The bytes of the file, up to 32 MiB'),
  }),
  output: z.object({
    id: z.string(),
    version: z.int(),
    state: z.enum(DOCUMENT_STATES).describe('`ready`: it is the same as it was'),
    title: z.string().nullable(),
    characters: z.int().describe('Of its text'),
    pages: z.int().nullable().describe('How many it has, where it has pages'),
  }),
  handle: (
    { rag },
    { name, fileName, type = null, id = fileName, title, metadata = {}, content },
    { caller, signal },
  ) =>
    rag.upload(name, { name: fileName, type, bytes: toOwn(content) }, { id, title, metadata, by: caller.name, signal }),
});

// --- internal ---

/** Bytes that can be handed over: those of a small body share their memory with others. */
function toOwn(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return bytes.byteLength === bytes.buffer.byteLength ? new Uint8Array(bytes.buffer) : Uint8Array.from(bytes);
}
