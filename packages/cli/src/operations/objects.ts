import type { OperationOutput } from '@svc/runtime/client';
import { usageError } from '../errors.ts';
import { formatBytes } from '../terminal/bytes.ts';
import { formatAgo } from '../terminal/format.ts';
import { toPlainText } from '../terminal/style.ts';
import type { Style } from '../terminal/style.ts';
import { formatTable } from '../terminal/table.ts';
import type { OperationForm } from './form.ts';
import type { Row } from './row.ts';

/** What `svc storage ls` takes and shows. */
export const OBJECT_LIST: OperationForm = {
  replaces: ['prefix', 'delimiter'],
  flags: {
    prefix: { type: 'positional', required: false, description: 'What the keys begin with. Default: the top folder.' },
    recursive: { type: 'boolean', description: 'Every object, whatever folder it is in.' },
  },
  async read({ prefix, recursive }) {
    if (prefix !== undefined) checkKey('prefix', prefix);
    return { ...(prefix === undefined ? {} : { prefix }), ...(recursive === true ? {} : { delimiter: '/' }) };
  },
  human: formatObjects,
  hint: ({ nextCursor }) => (nextCursor === null ? undefined : `There are more: add --cursor ${String(nextCursor)}`),
};

/** What `svc storage rm` takes. */
export const OBJECT_REMOVAL: OperationForm = {
  replaces: ['keys'],
  flags: { key: { type: 'positional', required: false, description: 'The key of the object.' } },
  async read({ key, prefix }) {
    if ((key === undefined) === (prefix === undefined))
      throw usageError('Say which: the key of an object, or --prefix, and not both.', 'Give one of them.');
    if (key === undefined) return {};
    checkKey('key', key);
    return { keys: [key] };
  },
};

/** @param name of the argument, for the sentence that refuses it */
export function checkKey(name: string, text: unknown): void {
  const bytes = Buffer.byteLength(String(text));
  if (bytes > KEY_BYTES) throw usageError(`<${name}> is too long: ${bytes} bytes.`, `Use at most ${KEY_BYTES}.`);
}

// --- internal ---

const KEY_BYTES = 700;

function formatObjects(answer: Row, style: Style): string {
  const { items, folders } = answer as unknown as OperationOutput<'storage.list'>;
  if (items.length + folders.length === 0) return 'There is nothing.';
  const now = Date.now();
  const rows = [
    ...folders.map((key) => ({ key, size: '-', changed: '-' })),
    ...items.map(({ key, size, lastModified }) => ({
      key,
      size: formatBytes(size),
      changed: formatAgo(lastModified, now),
    })),
  ];
  return formatTable(
    [
      { title: 'key', cell: ({ key }) => toPlainText(key), paint: (text) => style.bold(text) },
      { title: 'size', cell: ({ size }) => size },
      { title: 'changed', cell: ({ changed }) => changed },
    ],
    rows,
    style,
  );
}
