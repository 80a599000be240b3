import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../src/client.ts';
import type { RagFile } from '../src/engine/rag-calls.ts';
import { toDocx, toPdf } from '../src/rag/files/_files.ts';
import { startEmbeddingServer } from './_embedding-server.ts';
import type { EmbeddingServer } from './_embedding-server.ts';
import { svc } from '../src/svc.ts';
import { call, runWorkflow, setupBoxes, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
let embeddings: EmbeddingServer;
/** What a workflow adds; no file of a test fits an input as it is. */
let wanted: Partial<RagFile>[] = [];
const bytesLeft: number[] = [];
const addIn = async (files: Partial<RagFile>[]) => {
  const added = await Promise.all(files.map((file) => svc.rag.addFile('files', file as RagFile)));
  bytesLeft.push(...files.map(({ content }) => content?.byteLength ?? 0));
  return added;
};
const inStep = Object.assign(
  toStep('inStep', async () => addIn(wanted)),
  { maxRetries: 1 },
);
const read = toStep('read', async () => wanted[0]?.content ?? new Uint8Array());
const WORKFLOWS = {
  step: { run: async () => inStep() },
  body: {
    run: async () =>
      svc.rag.addFile('files', { name: 'of-body.pdf', content: await read(), metadata: { team: 'body' } }),
  },
};
let box: TestBox;
let url: string;
beforeAll(async () => {
  embeddings = await startEmbeddingServer({});
  const provider = { baseUrl: embeddings.url, apiKey: 'key' };
  box = await boxes.share({ provider, workflows: WORKFLOWS, options: { embeddingModel: () => 'test/words' } })();
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

async function untilReady(id: string, timeoutMs?: number): Promise<void> {
  await until(async () => {
    const { body } = await call<{ state: string }>(box, `GET ${PATH}/${encodeURIComponent(id)}`);
    return body.state === 'ready';
  }, timeoutMs);
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
  await untilReady('book.pdf', 60_000);
  const { body } = await call<{ items: { place: { page: number } }[] }>(box, 'POST /api/rag/collections/files/search', {
    query: '"The end of page 200."',
    mode: 'text',
  });
  expect(body.items.map(({ place }) => place.page)).toContain(200);
}, 120_000);

test('code of a step adds files, more at a time than are read at a time, and keeps its bytes', async () => {
  const pdf = await toPdf(['The walrus naps.'], { info: { Title: 'Walruses' } });
  wanted = [
    { name: 'walrus.pdf', content: pdf },
    {
      name: 'report',
      type: 'text/markdown; charset=utf-8',
      content: Buffer.from('# Report\n\nThe lynx hunts.'),
      id: 'lynx',
    },
    ...[1, 2, 3].map((n) => ({ name: `note-${n}.txt`, content: Buffer.from(`The note ${n}.`), title: `Note ${n}` })),
  ];
  const lengths = wanted.map(({ content }) => content?.byteLength);
  const run = await runWorkflow(box, 'step');
  expect(run).toMatchObject({
    status: 'completed',
    output: [
      { id: 'walrus.pdf', version: 1, state: 'queued', title: 'Walruses', pages: 1 },
      { id: 'lynx', title: null, pages: null, characters: 25 },
      ...[1, 2, 3].map((n) => ({ id: `note-${n}.txt`, title: `Note ${n}`, characters: 11 })),
    ],
  });
  expect(bytesLeft.slice(-wanted.length)).toEqual(lengths);
  for (const id of ['walrus.pdf', 'lynx', 'note-3.txt']) await untilReady(id);
  const { body } = await call<{ addedBy: string }>(box, `GET ${PATH}/lynx`);
  expect(body.addedBy).toBe('workflow step');
});

test('code of a body adds a file, and its record has no bytes', async () => {
  wanted = [{ content: await toPdf(['The ibex climbs.']) }];
  const run = await runWorkflow(box, 'body');
  expect(run).toMatchObject({ status: 'completed', output: { id: 'of-body.pdf', pages: 1 } });
  await untilReady('of-body.pdf');
  const { body } = await call<object>(box, `GET /api/runs/${String(run['runId'])}/timeline`);
  const shown = JSON.stringify(body);
  expect(shown).toContain('rag addFile files');
  // Once, as what the step before answered.
  const bytes = wanted[0]?.content?.byteLength ?? 0;
  expect(shown.length).toBeLessThan(2 * bytes);
});

test.each<[string, Partial<RagFile>, string]>([
  ['of no known kind', { name: 'a.exe', content: Buffer.from('MZ') }, 'file_type_unsupported'],
  ['that cannot be read', { name: 'a.pdf', content: Buffer.from('no PDF') }, 'file_unreadable'],
  ['that is too large', { name: 'a.txt', content: Buffer.alloc(32 * 1_048_576 + 1) }, 'payload_too_large'],
  ['whose bytes are a text', { name: 'a.txt', content: 'text' as never }, 'invalid_request'],
  ['without a name', { content: Buffer.from('a') }, 'invalid_request'],
  ['whose name is no id', { name: '..', type: 'text/markdown', content: Buffer.from('a') }, 'invalid_request'],
])('a file %s fails the step at once', async (_, file, code) => {
  wanted = [file];
  const run = await runWorkflow(box, 'step');
  expect(run).toMatchObject({ status: 'failed', error: { code } });
});

test('a file of an upload whose name is no id is refused', async () => {
  const answer = await upload('a', { 'content-type': 'text/markdown', 'x-svc-file-name': '..' });
  expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
});
