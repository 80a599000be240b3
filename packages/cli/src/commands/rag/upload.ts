import { openAsBlob } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { OperationOutput } from '@svc/runtime/client';
import { openClient, toSegment } from '../../client/client.ts';
import { usageError } from '../../errors.ts';
import { answerOf } from '../../payload/payload.ts';
import { formatBytes } from '../../terminal/bytes.ts';
import { toPlainText } from '../../terminal/style.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import { sizeOfFile } from '../../workspace/size-of-file.ts';

export const uploadFile = defineVerb({
  examples: [
    'svc rag upload handbook leave.pdf',
    'svc rag upload handbook leave.pdf --id leave --title "Leave" --json',
  ],
  args: {
    name: { type: 'positional', required: true, description: 'The name of the collection.' },
    file: {
      type: 'positional',
      required: true,
      description: 'Text, Markdown, HTML, CSV, JSON, PDF or DOCX, up to 32 MiB.',
    },
    id: { type: 'string', valueHint: 'id', description: 'The id of the document. Default: the name of the file.' },
    title: {
      type: 'string',
      valueHint: 'text',
      description: 'What sources call it. Default: as the file calls itself.',
    },
    metadata: { type: 'string', valueHint: 'json', description: 'What searches filter by, as JSON.' },
    ...TARGET_ARGS,
  },
  completes: { file: { paths: 'files' } },
  payload: answerOf('rag.documents.upload'),
  async run({ name, file: named, id, title, metadata, ...target }, context) {
    for (const [flag, given, most] of [
      ['id', id, 500],
      ['title', title, 500],
      ['metadata', metadata, 8_192],
    ] as const)
      if (given !== undefined && given.length > most)
        throw usageError(`--${flag} is longer than ${most} characters.`, 'Shorten it.');
    const file = resolve(context.cwd, named);
    const size = sizeOfFile(file);
    const data = await openClient(target, context).send<OperationOutput<'rag.documents.upload'>>({
      method: 'POST',
      path: `/api/rag/collections/${toSegment(name)}/documents/upload`,
      query: { id, title, metadata },
      headers: { 'x-svc-file-name': encodeURIComponent(basename(file)) },
      file: await openAsBlob(file),
    });
    const read = data.pages === null ? `${data.characters} characters` : `${data.pages} pages`;
    return {
      data,
      human: (style) =>
        `${style.green('Added')} ${toPlainText(data.id)}, version ${data.version}: ${formatBytes(size)}, ${read}` +
        (data.state === 'queued' ? `\n${style.dim('It is embedded now, and found soon after.')}` : ''),
    };
  },
});
