import { openAsBlob } from 'node:fs';
import { extname, resolve } from 'node:path';
import type { OperationOutput } from '@svc/runtime/client';
import { openClient } from '../../client/client.ts';
import { integer, object, string } from '../../payload/payload.ts';
import { checkKey } from '../../operate/objects.ts';
import { formatBytes } from '../../terminal/bytes.ts';
import { toPlainText } from '../../terminal/style.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import { sizeOfFile } from '../../workspace/size-of-file.ts';
import { ask } from './ask.ts';

export const putObject = defineVerb({
  examples: ['svc storage put monday.pdf reports/monday.pdf', 'svc storage put notes.txt notes.txt --overwrite --json'],
  args: {
    file: { type: 'positional', required: true, description: 'The file to upload.' },
    key: { type: 'positional', required: true, description: 'The key of the object.' },
    'content-type': { type: 'string', valueHint: 'type', description: 'Default: what the name of the file says.' },
    overwrite: { type: 'boolean', description: 'Replace an object that is there.' },
    ...TARGET_ARGS,
  },
  completes: { file: { paths: 'files' } },
  payload: object({
    key: string('The key of the object.'),
    size: integer('In bytes.', { minimum: 0 }),
    contentType: string('What the object says it is.'),
  }),
  async run({ file: named, key, overwrite = false, 'content-type': type, ...target }, context) {
    checkKey('key', key);
    const file = resolve(context.cwd, named);
    const size = sizeOfFile(file);
    const contentType = type ?? TYPES[extname(file).toLowerCase()] ?? 'application/octet-stream';
    const { url, headers } = await openClient(target, context).post<OperationOutput<'storage.upload'>>(
      '/api/storage/objects/upload-url',
      { key, size, contentType, overwrite, expiresIn: 3_600 },
    );
    // Its length is sent with it: read from the disk as it goes, it lies nowhere as a whole.
    const { 'content-length': _, ...sent } = headers;
    await ask(url, { method: 'PUT', headers: sent, body: await openAsBlob(file), signal: context.signal }, key);
    return {
      data: { key, size, contentType },
      human: (style) => `${style.green('Uploaded')} ${toPlainText(key)}, ${formatBytes(size)}, ${contentType}`,
    };
  },
});

// --- internal ---

const TYPES: Record<string, string | undefined> = {
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.gz': 'application/gzip',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.wav': 'audio/wav',
  '.webp': 'image/webp',
  '.xml': 'application/xml',
  '.zip': 'application/zip',
};
