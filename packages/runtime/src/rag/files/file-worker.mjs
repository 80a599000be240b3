// Reads one file into text, on a thread of its own: parsers take as long and as much memory as the file makes them.
import { inflateRawSync } from 'node:zlib';
import { parentPort, workerData } from 'node:worker_threads';

/** Characters of text, at most. */
const { bytes, kind, charset, most: mostCharacters } = workerData;

/** Bytes of what is packed in a DOCX file. */
const MOST_UNPACKED = 100 * 1024 * 1024;

class Unreadable extends Error {}

const READERS = {
  async pdf() {
    if (!startsWith('%PDF-', 1_024)) throw new Unreadable('it does not begin as a PDF does');
    const { getDocumentProxy } = await import('unpdf');
    const open = () => getDocumentProxy(bytes, { isEvalSupported: false, disableFontFace: true, verbosity: 0 });
    const pdf = await open().catch((error) => {
      if (error.name === 'PasswordException') throw new Unreadable('it is protected by a password');
      throw error;
    });
    const { info } = await pdf.getMetadata().catch(() => ({ info: {} }));
    const pages = [];
    let text = '';
    for (let n = 1; n <= pdf.numPages; n++) {
      const page = await pdf.getPage(n);
      pages.push(text.length);
      text += `${toLines((await page.getTextContent()).items)}\n\n`;
      page.cleanup();
      checkLength(text);
    }
    if (text.trim() === '')
      throw new Unreadable('it holds no text: its pages may be pictures, which have to go through OCR first');
    return { text, format: 'text', pages, title: typeof info?.Title === 'string' ? info.Title : null };
  },

  async docx() {
    checkArchive();
    const { default: mammoth } = await import('mammoth');
    const options = { convertImage: mammoth.images.imgElement(async () => ({ src: '' })), externalFileAccess: false };
    const { value: html } = await mammoth.convertToHtml({ buffer: Buffer.from(bytes) }, options);
    return { ...(await fromHtml(html)), title: null };
  },

  async html() {
    const html = decode(
      /<meta[^>]{0,200}charset=["']?([\w-]{1,40})/i.exec(Buffer.from(bytes.subarray(0, 4_096)).toString('latin1'))?.[1],
    );
    return fromHtml(html);
  },

  async csv() {
    const { parse } = await import('csv-parse/sync');
    const table = decode();
    const rows = parse(table, {
      bom: true,
      delimiter: delimiterOf(table),
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
    });
    const [names = [], ...records] = rows;
    return {
      text: toRecords(records.map((values) => values.map((value, n) => [names[n] ?? `column ${n + 1}`, value]))),
      format: 'text',
    };
  },

  async json() {
    const text = decode();
    let value;
    try {
      value = JSON.parse(text);
    } catch (error) {
      value = parseLines(text);
      if (value === undefined) throw new Unreadable(`it is not JSON: ${error.message.slice(0, 200)}`);
    }
    const records = Array.isArray(value) && value.every(isRecord) ? value : undefined;
    return {
      text: records ? toRecords(records.map((record) => [...leavesOf(record)])) : JSON.stringify(value, null, 2),
      format: 'text',
    };
  },

  async markdown() {
    return { text: decode(), format: 'markdown' };
  },

  async text() {
    return { text: decode(), format: 'text' };
  },
};

try {
  const { title = null, pages = null, ...read } = await READERS[kind]();
  checkLength(read.text);
  if (read.text.trim() === '') throw new Unreadable('it holds no text');
  answer({ document: { title: title?.trim().slice(0, 500) || null, pages, ...read } });
} catch (error) {
  answer({
    reason: error instanceof Unreadable ? error.message : `its reader says "${String(error.message).slice(0, 200)}"`,
  });
}

// --- internal ---

function answer(message) {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort.postMessage(message);
}

function startsWith(mark, within) {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(within, bytes.byteLength)).includes(mark);
}

function checkLength(text) {
  if (text.length > mostCharacters)
    throw new Unreadable(`its text is longer than ${mostCharacters} characters: cut it into several files`);
}

/** By its mark, by its own header, as UTF-8 where that fits, else as Windows has it. */
function decode(declared) {
  const [first, second] = bytes;
  const marked =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
  for (const label of [marked, charset, declared, 'utf-8']) {
    if (label === undefined) continue;
    try {
      return new TextDecoder(label, { fatal: true }).decode(bytes);
    } catch {
      // Another, then.
    }
  }
  if (bytes.subarray(0, 8_192).includes(0)) throw new Unreadable('it is no text');
  return new TextDecoder('windows-1252').decode(bytes);
}

function toLines(items) {
  let text = '';
  for (const { str, hasEOL } of items) {
    if (str === undefined) continue;
    text += str;
    if (hasEOL) text += '\n';
  }
  // A word that is broken over two lines is one.
  return text
    .replaceAll(/[ \t]+\n/g, '\n')
    .replaceAll(/(\p{Ll})[-\u00AD]\n(\p{Ll})/gu, '$1$2')
    .trim();
}

async function fromHtml(html) {
  const [{ default: Turndown }, { tables }] = await Promise.all([
    import('turndown'),
    import('@joplin/turndown-plugin-gfm'),
  ]);
  const turndown = new Turndown({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
  turndown.use(tables);
  turndown.remove([
    'script',
    'style',
    'noscript',
    'template',
    'iframe',
    'svg',
    'canvas',
    'nav',
    'title',
    'head',
    'img',
  ]);
  const title = /<title[^>]{0,200}>([^<]{1,1000})</i.exec(html.slice(0, 65_536))?.[1] ?? null;
  return {
    text: turndown.turndown(html),
    format: 'markdown',
    title: title === null ? null : turndown.turndown(`<p>${title}</p>`),
  };
}

/** The mark that parts the first line into most pieces. */
function delimiterOf(table) {
  const line = table.slice(0, 65_536).split(/\r?\n/, 1)[0] ?? '';
  const counted = [',', ';', '\t', '|'].map((mark) => [line.split(mark).length, mark]);
  return counted.reduce((most, one) => (one[0] > most[0] ? one : most))[1];
}

/** A record is a paragraph of lines, so that each says what its values are. */
function toRecords(records) {
  return records
    .map((pairs) =>
      pairs.flatMap(([name, value]) => (value === '' || value === null ? [] : [`${name}: ${value}`])).join('\n'),
    )
    .filter((record) => record !== '')
    .join('\n\n');
}

function isRecord(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function* leavesOf(value, path = '', depth = 0) {
  if (typeof value !== 'object' || value === null) return yield [path, value];
  if (depth > 64) throw new Unreadable('it nests deeper than 64');
  for (const [name, inner] of Object.entries(value))
    yield* leavesOf(
      inner,
      path === '' ? name : Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`,
      depth + 1,
    );
}

/** JSON Lines. */
function parseLines(text) {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length < 2) return undefined;
  try {
    return lines.map((line) => JSON.parse(line));
  } catch {
    return undefined;
  }
}

/** Every file of the archive is unpacked once with a limit that holds, as what an archive says of its sizes need not be so. */
function checkArchive() {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = view.lastIndexOf('PK\u0005\u0006', undefined, 'latin1');
  if (!startsWith('PK', 2) || end < 0 || end + 20 > view.length) throw new Unreadable('it is no DOCX file');
  const count = view.readUInt16LE(end + 10);
  let at = view.readUInt32LE(end + 16);
  let left = MOST_UNPACKED;
  let hasDocument = false;
  for (let n = 0; n < count; n++) {
    if (at + 46 > view.length || view.readUInt32LE(at) !== 0x02014b50) throw new Unreadable('its archive is damaged');
    const [method, packed] = [view.readUInt16LE(at + 10), view.readUInt32LE(at + 20)];
    const [nameLength, extra, comment] = [
      view.readUInt16LE(at + 28),
      view.readUInt16LE(at + 30),
      view.readUInt16LE(at + 32),
    ];
    const start = view.readUInt32LE(at + 42);
    hasDocument ||= view.toString('utf8', at + 46, at + 46 + nameLength) === 'word/document.xml';
    if (start + 30 > view.length) throw new Unreadable('its archive is damaged');
    const from = start + 30 + view.readUInt16LE(start + 26) + view.readUInt16LE(start + 28);
    left -= method === 0 ? packed : unpackedSize(view.subarray(from, from + packed), left);
    if (left < 0) throw tooMuch();
    at += 46 + nameLength + extra + comment;
  }
  if (!hasDocument) throw new Unreadable('it is an archive, but no DOCX file');
}

function unpackedSize(packed, left) {
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, left) }).length;
  } catch (error) {
    if (error.code === 'ERR_BUFFER_TOO_LARGE') throw tooMuch();
    throw new Unreadable('its archive is damaged');
  }
}

function tooMuch() {
  return new Unreadable(`it unpacks to more than ${MOST_UNPACKED / 1024 / 1024} MiB`);
}
