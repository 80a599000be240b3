import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { startEmbeddingServer } from './_embedding-server.ts';
import type { EmbeddingServer } from './_embedding-server.ts';
import { describeWhen, realServers } from './require.ts';
import { until } from './_setup.ts';
import { forkWorker } from './_turn-worker.ts';
import type { Death, Worker } from './_turn-worker.ts';

interface Shown {
  embedding: { model: string };
  index: { state: string; next: { ready: number } | null };
  counts: { documents: number; ready: number; chunks: number };
  items: { documentId: string; text: string }[];
}

/** Chunks enough for three batches in one document, and some of one; each is a text that no other collection has. */
const textsOf = (name: string): [id: string, text: string][] => [
  [
    'long',
    Array.from({ length: 250 }, (_, n) => `# Part ${n}\n\nThe part ${n} of ${name} is ${n * 7919}.`).join('\n\n'),
  ],
  ...Array.from({ length: 6 }, (_, n): [string, string] => [
    `note-${n}`,
    `The note ${n} of ${name} is ${n * 104_729}.`,
  ]),
];
const DOCUMENTS = 7;
const CHUNKS = 256;

/** Where a process dies, at the nth statement that has the text. */
const KEEP = 'from jsonb_to_recordset(';
const INGEST: [name: string, death: Death][] = [
  ['once a batch is kept', { sql: 'select key, embedding from jsonb', when: 'after', nth: 2 }],
  ['before a document is claimed', { sql: 'set lease_id', when: 'before', nth: 3 }],
  ['while its chunks are written', { sql: KEEP, when: 'after', nth: 6 }],
  ['before a document is said to be ready', { sql: '"ready_version" = $', when: 'before', nth: 2 }],
  ['once a document is said to be ready', { sql: '"ready_version" = $', when: 'after', nth: 3 }],
];
const REINDEX: [name: string, death: Death][] = [
  ...INGEST.slice(0, 3),
  ['before the old index is taken away', { sql: 'delete from "svc"."rag_indexes"', when: 'before', nth: 1 }],
  ['between the two halves of the switch', { sql: 'delete from "svc"."rag_indexes"', when: 'after', nth: 1 }],
  ['before the old table is dropped', { sql: 'drop table if exists', when: 'before', nth: 1 }],
];

describe('a box on PGlite that is killed', () =>
  describeKilled(async () => ({ url: undefined, drop: async () => {} })));

describeWhen(realServers.database, 'a box on Postgres that is killed', (url) =>
  describeKilled(() => createDatabase(url)),
);

function describeKilled(open: () => Promise<{ url: string | undefined; drop(): Promise<void> }>): void {
  const folder = mkdtempSync(join(tmpdir(), 'svc-rag-crash-'));
  let embeddings: EmbeddingServer;
  let database: Awaited<ReturnType<typeof open>>;
  let worker: Worker | undefined;
  beforeAll(async () => {
    embeddings = await startEmbeddingServer({ 'test/wide': 96 });
    database = await open();
  });
  afterEach(() => worker?.kill());
  afterAll(async () => {
    await database.drop();
    await embeddings.close();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => embeddings.clear());

  const start = async (death?: Death) =>
    (worker = await forkWorker({
      folder,
      modelUrl: embeddings.url,
      database: database.url,
      death,
      program: 'rag-worker.mjs',
    }));
  const ask = async (route: string, body?: object): Promise<Shown> => {
    const [method = '', path] = route.split(' ');
    const answer = await fetch(`${worker?.url}/api/rag/collections${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return (await answer.json()) as Shown;
  };
  /** A collection with nothing in it. */
  const make = async (name: string) => {
    await ask('POST ', { name, chunking: { size: 50, overlap: 0 } });
    return name;
  };
  const fill = async (name: string) => {
    for (const [id, text] of textsOf(name)) await ask(`POST /${name}/documents`, { id, text });
  };
  /** The process is gone by itself. */
  const untilDead = async () => {
    const child = worker?.child;
    if (child && child.signalCode === null && child.exitCode === null) await once(child, 'exit');
    expect(child?.signalCode).toBe('SIGKILL');
  };
  const untilReady = (name: string) =>
    until(async () => {
      const { index, counts } = await ask(`GET /${name}`);
      return index.state === 'ready' && counts.documents === DOCUMENTS;
    }, 30_000);
  /** Those of documents, each of which a vector was made of. */
  const embedded = (model: string) => embeddings.inputsOf(model).filter((text) => text !== 'dimension');
  const expectWhole = async (name: string, model: string) => {
    expect(await ask(`GET /${name}`)).toMatchObject({
      embedding: { model },
      counts: { documents: DOCUMENTS, ready: DOCUMENTS, chunks: CHUNKS },
    });
    const { items } = await ask(`POST /${name}/search`, { query: '523645', topK: 1, mode: 'text' });
    expect(items[0]).toMatchObject({ documentId: 'note-5' });
  };

  test.each(INGEST)(
    '%s goes on with what it was embedding, and asks for nothing twice',
    { timeout: 90_000 },
    async (_, death) => {
      await start();
      const name = await make(`ingest-${INGEST.findIndex(([, each]) => each === death)}`);
      const release = embeddings.hold({ text: name });
      await fill(name);
      await worker?.arm(death);
      release();
      await untilDead();
      await start();
      await untilReady(name);
      const asked = embedded('test/words').filter((text) => text.includes(name));
      expect(asked).toHaveLength(CHUNKS);
      expect(new Set(asked).size).toBe(CHUNKS);
      await expectWhole(name, 'test/words');
    },
  );

  test.each(REINDEX)(
    '%s goes on to the new model, and asks it for nothing twice',
    { timeout: 90_000 },
    async (_, death) => {
      await start();
      const name = await make(`reindex-${REINDEX.findIndex(([, each]) => each === death)}`);
      await fill(name);
      await untilReady(name);
      const release = embeddings.hold({ model: 'test/wide', text: name });
      await ask(`POST /${name}/reindex`, { model: 'test/wide' });
      await worker?.arm(death);
      release();
      await untilDead();
      await start();
      // Whatever it was at, searches are answered from the first moment on.
      const { items } = await ask(`POST /${name}/search`, { query: '523645', topK: 1, mode: 'text' });
      expect(items[0]).toMatchObject({ documentId: 'note-5' });
      await until(async () => (await ask(`GET /${name}`)).embedding.model === 'test/wide', 30_000);
      const asked = embedded('test/wide').filter((text) => text.includes(name));
      expect(asked).toHaveLength(CHUNKS);
      expect(new Set(asked).size).toBe(CHUNKS);
      await expectWhole(name, 'test/wide');
    },
  );

  test('while it waits for a batch goes on at that batch', { timeout: 60_000 }, async () => {
    await start();
    const name = await make('waiting');
    const release = embeddings.hold({ text: 'The part 100 of' });
    await fill(name);
    await until(() => embeddings.waiting() === 1 && embedded('test/words').length >= 96);
    await worker?.kill();
    await start();
    // By now the provider knows that no one waits for what it held back.
    release();
    await untilReady(name);
    expect(embedded('test/words')).toHaveLength(CHUNKS);
    await expectWhole(name, 'test/words');
  });
}
