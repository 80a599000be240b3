import { createHash } from 'node:crypto';

import { S3Error } from './errors.ts';
import type { SignatureChain } from './signature.ts';

export interface ChunkedOptions {
  /** Present when each chunk, and the trailer, carries a signature. */
  chain?: SignatureChain | undefined;
  /** Present when a trailer is announced; called once with its headers, by lower-case name. */
  onTrailer?: ((trailer: ReadonlyMap<string, string>) => void) | undefined;
}

/**
 * Takes the framing off an `aws-chunked` body: `<hex size>[;chunk-signature=<hex>]\r\n<data>\r\n`, until a chunk of
 * size 0 and, when announced, a trailer. Data passes on before its chunk's signature is known, so a reader keeps
 * nothing until the end came without an error.
 */
export async function* decodeChunked(
  source: AsyncIterable<Uint8Array>,
  options: ChunkedOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = createReader(source);
  try {
    for (;;) {
      const header = readChunkHeader(await reader.readLine());
      yield* readChunk(reader, header, options.chain);
      if (header.size === 0) break;
      if ((await reader.readLine()) !== '') throw incomplete();
    }
    await readTrailer(reader, options);
    if (!(await reader.isAtEnd())) throw incomplete();
  } finally {
    await reader.close();
  }
}

// --- internal ---

interface Reader {
  /** The next line without its line end. */
  readLine(): Promise<string>;
  /** At least one byte, at most `limit`. */
  readSome(limit: number): Promise<Uint8Array>;
  isAtEnd(): Promise<boolean>;
  close(): Promise<void>;
}

const MAX_LINE = 4096;
const MAX_TRAILER_LINES = 32;

interface ChunkHeader {
  size: number;
  signature: string;
}

async function* readChunk(
  reader: Reader,
  header: ChunkHeader,
  chain: SignatureChain | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = chain && createHash('sha256');
  let left = header.size;
  while (left > 0) {
    const data = await reader.readSome(left);
    hash?.update(data);
    left -= data.length;
    yield data;
  }
  if (hash) chain.verifyChunk(header.signature, hash.digest('hex'));
}

function createReader(source: AsyncIterable<Uint8Array>): Reader {
  const iterator = source[Symbol.asyncIterator]();
  let buffer: Uint8Array = new Uint8Array(0);

  async function fill(): Promise<boolean> {
    while (buffer.length === 0) {
      const next = await iterator.next();
      if (next.done) return false;
      buffer = next.value;
    }
    return true;
  }
  async function readSome(limit: number): Promise<Uint8Array> {
    if (!(await fill())) throw incomplete();
    const data = buffer.subarray(0, limit);
    buffer = buffer.subarray(data.length);
    return data;
  }
  async function readLine(): Promise<string> {
    let line = '';
    while (!line.endsWith('\n')) {
      if (line.length > MAX_LINE) throw incomplete();
      await fill();
      const end = buffer.indexOf(0x0a);
      line += Buffer.from(await readSome(end === -1 ? MAX_LINE : Math.min(end + 1, MAX_LINE))).toString('latin1');
    }
    return line.replace(/\r?\n$/, '');
  }
  return {
    readLine,
    readSome,
    isAtEnd: async () => !(await fill()),
    close: async () => void (await iterator.return?.()),
  };
}

function readChunkHeader(line: string): ChunkHeader {
  const [size = '', extension = ''] = line.split(';', 2);
  if (!/^[0-9a-f]{1,10}$/i.test(size)) {
    throw new S3Error('InvalidChunkSizeError', 'A chunk of the body does not begin with its size in hex.');
  }
  return { size: Number.parseInt(size, 16), signature: extension.replace(/^\s*chunk-signature=/, '') };
}

async function readTrailer(reader: Reader, options: ChunkedOptions): Promise<void> {
  const trailer = new Map<string, string>();
  const awaitsSignature = options.chain !== undefined && options.onTrailer !== undefined;
  let signed = '';
  let signature = '';
  // Some clients end the body right after the last chunk, and some put an empty line before the trailer's signature.
  for (let lines = 0; !(await reader.isAtEnd()); lines++) {
    const line = await reader.readLine();
    if (lines >= MAX_TRAILER_LINES) throw malformedTrailer();
    if (line === '') {
      if (awaitsSignature && signature === '') continue;
      break;
    }
    const colon = line.indexOf(':');
    if (colon === -1 || !options.onTrailer) throw malformedTrailer();
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === 'x-amz-trailer-signature') signature = value;
    else {
      trailer.set(name, value);
      signed += `${name}:${value}\n`;
    }
  }
  if (!options.onTrailer) return;
  options.chain?.verifyTrailer(signature, createHash('sha256').update(signed).digest('hex'));
  options.onTrailer(trailer);
}

function malformedTrailer(): S3Error {
  return new S3Error('MalformedTrailerError', 'The trailer of the chunked body is not well formed, or not announced.');
}

function incomplete(): S3Error {
  return new S3Error('IncompleteBody', 'The chunked body ends early, or its framing is broken.');
}
