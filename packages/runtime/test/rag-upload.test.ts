import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../src/client.ts';
import { toDocx, toPdf } from '../src/rag/files/_files.ts';
import { startEmbeddingServer } from './_embedding-server.ts';
import type { EmbeddingServer } from './_embedding-server.ts';
import { call, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
let embeddings: EmbeddingServer;
let box: TestBox;
let url: string;
beforeAll(async () => {
  embeddings = await startEmbeddingServer({});
  const provider = { baseUrl: embeddings.url, apiKey: 'key' };
  box = await boxes.share({ provider, options: { embeddingModel: () => 'test/words' } })();
  url = await box.listen();
  await call(box, 'POST /api/rag/collections', { name: 'files' });
});
afterAll(() => embeddings.close());

const PATH = '/api/rag/collections/files/documents';

interface Uploaded {
  id: string;
  state: string;
  title: string | null;
  characters: number;
  pages: number | null;
  code: string;
  message: string;
}

async function upload(
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
  query = '',
  collection = 'files',
) {
  const response = await fetch(`${url}/api/rag/collections/${collection}/documents/upload${query}`, {
    method: 'POST',
    body,
    headers,
  });
  return { status: response.status, body: (await response.json()) as Uploaded };
}

async function untilReady(id: string): Promise<void> {
  await until(async () => {
    const { body } = await call<{ state: string }>(box, `GET ${PATH}/${encodeURIComponent(id)}`);
    return body.state === 'ready';
  });
}

test('a PDF that is uploaded is found, with the page it says so on', async () => {
  const pages = ['About cats.', 'A zebra needs eleven kilograms of hay.', 'About dogs.'];
  const pdf = await toPdf(pages, { info: { Title: 'Animals' } });
  const answer = await upload(pdf, { 'content-type': 'application/pdf', 'x-svc-file-name': 'animals%20%C3%A4.pdf' });
  expect(answer).toMatchObject({ status: 202, body: { id: 'animals ä.pdf', title: 'Animals', pages: 3 } });
  await untilReady('animals ä.pdf');
  const { body } = await call<{ items: { documentId: string; text: string; place: { page: number } }[] }>(
    box,
    'POST /api/rag/collections/files/search',
    { query: 'hay of a zebra' },
  );
  const [hit] = body.items;
  expect(hit?.documentId).toBe('animals ä.pdf');
  expect(hit?.text).toContain('eleven kilograms');
});

test('a file has the id, the title and the metadata that are given with it, and replaces what had the id', async () => {
  const metadata = encodeURIComponent(JSON.stringify({ team: 'billing' }));
  const given = await upload(
    await toDocx(),
    { 'x-svc-file-name': 'handbook.docx' },
    `?id=handbook&title=The%20handbook&metadata=${metadata}`,
  );
  expect(given).toMatchObject({ status: 202, body: { id: 'handbook', title: 'The handbook', pages: null } });
  await untilReady('handbook');
  const filtered = await call<{ items: { place: { headings: string[] } }[] }>(
    box,
    'POST /api/rag/collections/files/search',
    { query: 'Who decides above 50 euros?', filter: { team: 'billing' } },
  );
  expect(filtered.body.items[0]?.place.headings).toEqual(['Handbook', 'Limits']);
  const again = await upload('Nothing of that any more.', { 'x-svc-file-name': 'x.txt' }, '?id=handbook');
  expect(again.body).toMatchObject({ id: 'handbook', characters: 25 });
});

test('the typed client uploads bytes', async () => {
  const client = createClient({ baseUrl: url });
  const content = new Uint8Array(Buffer.from('name,city\nAnn,Wien\n'));
  const uploaded = await client.call('rag.documents.upload', {
    name: 'files',
    fileName: encodeURIComponent('people ä.csv'),
    type: 'text/csv',
    content,
  });
  expect(uploaded).toMatchObject({ id: 'people ä.csv', characters: 20 });
});

test('a file that cannot be taken says why, and leaves nothing', async () => {
  const refused = async (...given: Parameters<typeof upload>) => {
    const { status, body } = await upload(...given);
    return [status, body.code];
  };
  expect(await refused(new Uint8Array(8), { 'x-svc-file-name': 'a.exe' })).toEqual([415, 'file_type_unsupported']);
  expect(await refused('x', { 'x-svc-file-name': 'a.pdf' })).toEqual([422, 'file_unreadable']);
  expect(await refused('x', { 'x-svc-file-name': 'a.txt' }, '', 'nothing')).toEqual([404, 'rag_collection_not_found']);
  // What a form of a foreign page can send has no such header.
  expect(await refused('x', { 'content-type': 'text/plain' })).toEqual([415, 'unsupported_media_type']);
  expect(await refused('{}', { 'content-type': 'application/json' })).toEqual([400, 'invalid_request']);
  expect(await refused('x', { 'x-svc-file-name': '%zz' })).toEqual([400, 'invalid_request']);
  expect(await refused('x', { 'x-svc-file-name': 'a.txt' }, '?metadata=1')).toEqual([400, 'invalid_request']);
  expect(await refused('x', { 'x-svc-file-name': 'a.txt' }, '?metadata={')).toEqual([400, 'invalid_request']);
  expect(await refused('x', { 'x-svc-file-name': 'a.txt' }, '?other=1')).toEqual([400, 'invalid_request']);
  expect(await refused(new Uint8Array(33 * 1_048_576), { 'x-svc-file-name': 'a.txt' })).toEqual([
    413,
    'payload_too_large',
  ]);
  const { body } = await call<{ items: { id: string }[] }>(box, `GET ${PATH}`);
  expect(body.items.map(({ id }) => id).filter((id) => id.startsWith('a.'))).toEqual([]);
});

test('a large file is read while the box answers others', async () => {
  const page = 'All of this is said on each page of a large book. '.repeat(80);
  const book = await toPdf(Array.from({ length: 300 }, (_, n) => `${page} The end of page ${n + 1}.`));
  const state = { isRead: false, asked: 0 };
  const uploading = upload(book, { 'x-svc-file-name': 'book.pdf' }).finally(() => (state.isRead = true));
  while (!state.isRead) {
    expect((await fetch(`${url}/live`)).status).toBe(200);
    state.asked += 1;
  }
  expect(state.asked).toBeGreaterThan(20);
  expect((await uploading).body).toMatchObject({ id: 'book.pdf', pages: 300 });
  await untilReady('book.pdf');
  const { body } = await call<{ items: { place: { page: number } }[] }>(box, 'POST /api/rag/collections/files/search', {
    query: '"The end of page 200."',
    mode: 'text',
  });
  expect(body.items.map(({ place }) => place.page)).toContain(200);
}, 120_000);
