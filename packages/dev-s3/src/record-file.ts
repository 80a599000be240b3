import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

import type { ByteRange } from './store.ts';

/** What a record file always knows about its data. */
export interface Measured {
  size: number;
  /** MD5 in hex. */
  md5: string;
}

export interface OpenRecordFile<T> {
  record: T;
  read(range?: ByteRange): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/**
 * Writes data and its record into one file: the data, the record as JSON, the record's length, a mark. One file, so
 * that one rename shows both. The record stands last because it is known last.
 */
export async function writeRecordFile<T extends { size: number }>(
  path: string,
  body: AsyncIterable<Uint8Array>,
  describe: (measured: Measured) => T,
): Promise<T> {
  const handle = await open(path, 'wx', 0o600);
  try {
    const hash = createHash('md5');
    let size = 0;
    for await (const chunk of body) {
      hash.update(chunk);
      size += chunk.length;
      await writeAll(handle, chunk);
    }
    const record = describe({ size, md5: hash.digest('hex') });
    await writeAll(handle, formatTail(record));
    return record;
  } finally {
    await handle.close();
  }
}

/** Undefined when there is no such file, or when it is not a whole record file. */
export async function openRecordFile<T extends { size: number }>(path: string): Promise<OpenRecordFile<T> | undefined> {
  const handle = await openExisting(path);
  if (!handle) return undefined;
  try {
    const { size: fileSize } = await handle.stat();
    const tailStart = Math.max(0, fileSize - TAIL_BYTES);
    const tail = await readAll(handle, tailStart, fileSize - tailStart);
    const record = await readRecord<T>(handle, tail, fileSize);
    if (record) {
      const cached = tailStart === 0 ? tail : undefined;
      return { record, read: (range) => readData(handle, record.size, { range, cached }), close: () => handle.close() };
    }
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return undefined;
}

/** Only the record. */
export async function readRecordFile<T extends { size: number }>(path: string): Promise<T | undefined> {
  const file = await openRecordFile<T>(path);
  await file?.close();
  return file?.record;
}

// --- internal ---

const MARK = Buffer.from('svcobj01');
const FOOTER_BYTES = 4 + MARK.length;
/** Enough for nearly every record, and for the whole of a small object. */
const TAIL_BYTES = 16 * 1024;
const READ_BYTES = 128 * 1024;

function formatTail(record: object): Buffer {
  const json = Buffer.from(JSON.stringify(record));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([json, length, MARK]);
}

async function readRecord<T extends { size: number }>(
  handle: FileHandle,
  tail: Buffer,
  fileSize: number,
): Promise<T | undefined> {
  if (tail.length < FOOTER_BYTES || !tail.subarray(-MARK.length).equals(MARK)) return undefined;
  const length = tail.readUInt32BE(tail.length - FOOTER_BYTES);
  const start = fileSize - FOOTER_BYTES - length;
  if (start < 0) return undefined;
  const end = tail.length - FOOTER_BYTES;
  const json = length <= end ? tail.subarray(end - length, end) : await readAll(handle, start, length);
  const record = parseRecord<T>(json);
  return record?.size === start ? record : undefined;
}

function parseRecord<T>(json: Buffer): T | undefined {
  try {
    return JSON.parse(json.toString('utf8')) as T;
  } catch {
    return undefined;
  }
}

async function* readData(
  handle: FileHandle,
  size: number,
  { range, cached }: { range?: ByteRange | undefined; cached?: Buffer | undefined },
): AsyncGenerator<Uint8Array, void, undefined> {
  const end = Math.min(size, (range?.end ?? size - 1) + 1);
  let position = range?.start ?? 0;
  if (cached) {
    if (position < end) yield cached.subarray(position, end);
    return;
  }
  while (position < end) {
    const chunk = await readAll(handle, position, Math.min(READ_BYTES, end - position));
    if (chunk.length === 0) throw new Error('An object file became shorter while it was read.');
    position += chunk.length;
    yield chunk;
  }
}

async function readAll(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

async function writeAll(handle: FileHandle, data: Uint8Array): Promise<void> {
  let written = 0;
  while (written < data.length) {
    const { bytesWritten } = await handle.write(data, written);
    written += bytesWritten;
  }
}

async function openExisting(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
