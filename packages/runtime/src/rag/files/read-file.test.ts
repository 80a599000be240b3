import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { toDocx, toPdf } from './_files.ts';
import { createFileReader } from './read-file.ts';

const reader = createFileReader({ most: 5_000_000 });
const signal = new AbortController().signal;
const read = (name: string, content: string | Uint8Array<ArrayBuffer>, type: string | null = null) => {
  const bytes = typeof content === 'string' ? new Uint8Array(Buffer.from(content)) : content;
  return reader.read({ name, type, bytes }, signal);
};

describe('a file', () => {
  test('that is text is read as it is, in the character set that it has', async () => {
    const text = 'Grüße aus Köln. 東京';
    expect(await read('a.txt', text)).toEqual({ title: null, format: 'text', text, pages: null });
    expect(await read('a.md', '# A\n\nb', 'text/markdown; charset=utf-8')).toMatchObject({
      format: 'markdown',
      text: '# A\n\nb',
    });
    const latin = new Uint8Array(Buffer.from('Grüße', 'latin1'));
    expect((await read('a.txt', latin)).text).toBe('Grüße');
    expect(
      (await read('a.txt', new Uint8Array(Buffer.from('Grüße', 'latin1')), 'text/plain; charset=iso-8859-1')).text,
    ).toBe('Grüße');
    const wide = new Uint8Array(Buffer.from('\uFEFFGrüße', 'utf16le'));
    expect((await read('a.txt', wide)).text).toBe('Grüße');
  });

  test('of HTML becomes Markdown, without what is not read', async () => {
    const html = `<!doctype html><html><head><title>Refunds &amp; more</title><style>p { color: red }</style></head><body>
      <nav><a href="/">Home</a></nav><script>alert('no')</script>
      <h1>Refunds</h1><p>Within <b>14</b> days. See <a href="https://example.org/terms">the terms</a>.</p>
      <ul><li>One</li><li>Two</li></ul>
      <table><thead><tr><th>Country</th><th>Days</th></tr></thead><tbody><tr><td>AT</td><td>14</td></tr></tbody></table>
      <pre><code>svc dev</code></pre></body></html>`;
    const { title, format, text } = await read('page.html', html);
    expect([title, format]).toEqual(['Refunds & more', 'markdown']);
    expect(text).toMatch(/^# Refunds\n\nWithin \*\*14\*\* days\. See \[the terms\]\(https:\/\/example\.org\/terms\)\./);
    expect(text).toMatch(/- +One\n- +Two/);
    expect(text).toContain('| Country | Days |');
    expect(text).toMatch(/\| AT +\| 14 +\|/);
    expect(text).toContain('```\nsvc dev\n```');
    expect(text).not.toMatch(/alert|color|Home/);
  });

  test('of a table becomes a paragraph a row, in which each value has its name', async () => {
    const rows = 'name;city;note\n"Ann; B.";Wien;"He said ""no"""\nBo;;\n';
    expect((await read('a.csv', rows)).text).toBe('name: Ann; B.\ncity: Wien\nnote: He said "no"\n\nname: Bo');
    expect((await read('a.tsv', 'a\tb\n1\t2\n')).text).toBe('a: 1\nb: 2');
  });

  test('of JSON becomes a paragraph a record, or stays JSON', async () => {
    const records = '[{"id":1,"to":{"city":"Wien","tags":["a","b"]}},{"id":2,"to":null}]';
    expect((await read('a.json', records)).text).toBe('id: 1\nto.city: Wien\nto.tags[0]: a\nto.tags[1]: b\n\nid: 2');
    expect((await read('a.jsonl', '{"id":1}\n{"id":2}\n')).text).toBe('id: 1\n\nid: 2');
    expect((await read('a.json', '{"a":[1]}')).text).toBe('{\n  "a": [\n    1\n  ]\n}');
  });

  test('of Word becomes Markdown with its headings, lists and tables', async () => {
    const { text, format } = await read('handbook.docx', await toDocx());
    expect(format).toBe('markdown');
    expect(text).toMatch(
      /^# Handbook\n\nHow orders are refunded\.\n\n## Limits\n\n- +Up to 50 euros: at once\n- +Above: a person decides/,
    );
    expect(text).toContain('Österreich');
  });

  test('of 300 pages of PDF is read whole, page by page', async () => {
    const pages = Array.from(
      { length: 300 },
      (_, n) => `Chapter ${n + 1}\n\n${`Page ${n + 1} says something of its own. `.repeat(60)}The end of ${n + 1}.`,
    );
    const read300 = await read('book.pdf', await toPdf(pages, { info: { Title: 'The book' } }));
    expect(read300.title).toBe('The book');
    const starts = read300.pages ?? [];
    expect(starts).toHaveLength(300);
    for (const n of [0, 1, 150, 299]) {
      const page = read300.text.slice(starts[n], starts[n + 1]);
      expect(page).toMatch(new RegExp(`^Chapter ${n + 1}\\b`));
      expect(page.trim()).toMatch(new RegExp(`The end of ${n + 1}\\.$`));
    }
  }, 60_000);
});

describe('a file that cannot be read', () => {
  const refused = (name: string, content: string | Uint8Array<ArrayBuffer>, type: string | null = null) =>
    read(name, content, type).then(
      () => 'it was read',
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );

  test('says why', async () => {
    expect(await refused('a.exe', 'MZ')).toMatch(
      /^file_type_unsupported: The file "a.exe" cannot be read\. Those that can: \.txt,/,
    );
    expect(await refused('a.pdf', 'no pdf')).toBe(
      'file_unreadable: The file "a.pdf" cannot be read: it does not begin as a PDF does.',
    );
    expect(await refused('a.pdf', '%PDF-1.4 and nothing')).toMatch(/^file_unreadable: .*its reader says/);
    expect(await refused('a.docx', 'no archive')).toContain('it is no DOCX file');
    expect(await refused('a.json', '{"a":')).toContain('it is not JSON');
    expect(await refused('a.txt', '  \n ')).toContain('it holds no text');
    expect(await refused('a.txt', new Uint8Array([0, 1, 2, 0xff, 0]))).toContain('it is no text');
    expect(await refused('a.txt', 'x'.repeat(5_000_001))).toContain('longer than 5000000 characters');
    expect(await refused('a.pdf', await toPdf(['secret'], { userPassword: 'open' }))).toContain(
      'protected by a password',
    );
    expect(await refused('a.pdf', await toPdf(['']))).toContain('it holds no text: its pages may be pictures');
  });

  test('as it takes too long, or too much memory, ends by itself', async () => {
    const hasty = createFileReader({ most: 5_000_000, timeoutMs: 1 });
    await expect(
      hasty.read({ name: 'a.txt', type: null, bytes: new Uint8Array(Buffer.from('a')) }, signal),
    ).rejects.toThrow('reading it takes longer than 0.001 seconds');
    expect(await refused('bomb.docx', toBomb(200 * 1024 * 1024))).toContain('it unpacks to more than 100 MiB');
    const gone = new AbortController();
    const reading = reader.read({ name: 'b.txt', type: null, bytes: new Uint8Array(Buffer.from('b')) }, gone.signal);
    gone.abort(new Error('gone'));
    await expect(reading).rejects.toThrow('gone');
  });

  test('as too many are read at once is refused until one is done', async () => {
    const files = await Promise.allSettled([read('1.txt', 'a'), read('2.txt', 'b'), read('3.txt', 'c')]);
    expect(files.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect((await read('4.txt', 'd')).text).toBe('d');
  });
});

// --- internal ---

/** An archive that says its document is small. */
function toBomb(size: number): Uint8Array<ArrayBuffer> {
  const packed = deflateRawSync(Buffer.alloc(size, ' '));
  const name = Buffer.from('word/document.xml');
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  local.writeUInt16LE(8, 8);
  local.writeUInt32LE(packed.length, 18);
  local.writeUInt32LE(1_000, 22);
  local.writeUInt16LE(name.length, 26);
  const central = Buffer.alloc(46);
  central.writeUInt32LE(0x02014b50, 0);
  central.writeUInt16LE(8, 10);
  central.writeUInt32LE(packed.length, 20);
  central.writeUInt32LE(1_000, 24);
  central.writeUInt16LE(name.length, 28);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length + name.length, 12);
  end.writeUInt32LE(30 + name.length + packed.length, 16);
  return new Uint8Array(Buffer.concat([local, name, packed, central, name, end]));
}
