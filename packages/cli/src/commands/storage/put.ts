import { openAsBlob } from 'node:fs';
import { extname, resolve } from 'node:path';
import type { OperationOutput } from '@svc/runtime/client';
import type { Context } from '../../context.ts';
import { openClient } from '../../client/client.ts';
import { integer, object, string } from '../../payload/payload.ts';
import { checkKey } from '../../operations/objects.ts';
import { formatBytes } from '../../terminal/bytes.ts';
import { toPlainText } from '../../terminal/style.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import { sizeOfFile } from '../../workspace/size-of-file.ts';
import { ask } from './ask.ts';
import { withStdin } from './stdin.ts';

export const putObject = defineVerb({
  examples: [
    'svc storage put monday.pdf reports/monday.pdf',
    'zcat day.gz | svc storage put - logs/day.txt --overwrite',
  ],
  args: {
    file: { type: 'positional', required: true, description: 'The file to upload; - is stdin.' },
    key: { type: 'positional', required: true, description: 'The key of the object.' },
    'content-type': {
      type: 'string',
      valueHint: 'type',
      description: 'Default: what the name of the file says, of stdin the key.',
    },
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
    const contentType = type ?? typeOf(named === '-' ? key : named);
    const upload = (file: string) => send(file, { key, contentType, overwrite }, { target, context });
    const size = await (named === '-' ? withStdin(context, upload) : upload(resolve(context.cwd, named)));
    return {
      data: { key, size, contentType },
      human: (style) => `${style.green('Uploaded')} ${toPlainText(key)}, ${formatBytes(size)}, ${contentType}`,
    };
  },
});

// --- internal ---

/** Answers how many bytes the object has. */
async function send(
  file: string,
  asked: { key: string; contentType: string; overwrite: boolean },
  { target, context }: { target: Parameters<typeof openClient>[0]; context: Context },
): Promise<number> {
  const size = sizeOfFile(file);
  const { url, headers } = await openClient(target, context).post<OperationOutput<'storage.upload'>>(
    '/api/storage/objects/upload-url',
    { ...asked, size, expiresIn: 3_600 },
  );
  // Its length is sent with it: read from the disk as it goes, it lies nowhere as a whole.
  const { 'content-length': _, ...sent } = headers;
  const body = await openAsBlob(file);
  await ask(url, { method: 'PUT', headers: sent, body, signal: context.signal }, asked.key);
  return size;
}

function typeOf(name: string): string {
  return TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream';
}

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
