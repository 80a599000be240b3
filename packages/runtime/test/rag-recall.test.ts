import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BoxOptions } from '../src/box/options.ts';
import { openDatabase } from '../src/stores/database.ts';
import type { Database } from '../src/stores/database.ts';
import { openPg } from '../src/stores/pg.ts';
import { startEmbeddingServer, toVector } from './_embedding-server.ts';
import type { EmbeddingServer } from './_embedding-server.ts';
import { AMENDMENTS } from './fixtures/amendments.ts';
import { describeWhen, realServers } from './require.ts';
import { call, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const SIZE = 256;
const NOISE = 600;

let embeddings: EmbeddingServer;
beforeAll(async () => {
  embeddings = await startEmbeddingServer({ 'test/recall': SIZE });
});
afterAll(() => embeddings.close());

describe('what searches find on PGlite', () => describeRecall({}));

describeWhen(realServers.database, 'what searches find on Postgres', (url) => {
  const name = `svc_recall_${process.pid}`;
  const options: Partial<BoxOptions> = {};
  let database: Database;
  beforeAll(async () => {
    await administer(url, `create database ${name}`);
    database = openDatabase(openPg(Object.assign(new URL(url), { pathname: `/${name}` }).href));
    await database.ready;
    options.db = database.db;
  });
  afterAll(async () => {
    await database.close();
    await administer(url, `drop database ${name} with (force)`);
  });

  describeRecall(options);
});

/** Laws among other texts: each question has one right answer, and hundreds of texts have its words, too. */
function describeRecall(options: Partial<BoxOptions>): void {
  test('the right one is among ten, and so are the nearest of all, though the index looks at few', async () => {
    embeddings.clear();
    const box = await boxes.open({
      provider: { baseUrl: embeddings.url, apiKey: 'provider-key' },
      options: {
        embeddingModel: () => 'test/recall',
        rag: { everyMs: 20, pauseMs: 10 },
        engine: { sweepMs: 20 },
        ...options,
      },
    });
    await call(box, 'POST /api/rag/collections', { name: 'laws' });
    for (const { id, text } of AMENDMENTS) await call(box, `POST ${PATH}/documents`, { id, text });
    const noise = makeNoise().map((text, n) => `# Text ${n}\n\n${text}`);
    await call(box, `POST ${PATH}/documents`, { id: 'noise', text: noise.join('\n\n') });
    const wanted = AMENDMENTS.length + 1;
    await until(async () => (await read(box)).ready === wanted, 60_000);
    expect(await read(box)).toMatchObject({ chunks: AMENDMENTS.length + NOISE });

    const embedded = [...new Set(embeddings.inputs)];
    const missed: string[] = [];
    let near = 0;
    for (const { id, question } of AMENDMENTS) {
      const found = await search(box, question, 'hybrid');
      if (!found.some(({ documentId }) => documentId === id)) missed.push(question);
      const asked = toVector(question, SIZE);
      const exact = embedded.map((text) => dot(asked, toVector(text, SIZE))).sort((a, b) => b - a);
      const nearest = await search(box, question, 'vector');
      near += nearest.filter(({ similarity }) => (similarity ?? 0) >= (exact[9] ?? 0) - 1e-4).length;
    }
    const count = AMENDMENTS.length;
    expect(missed).toEqual([]);
    expect(near / (count * 10)).toBeGreaterThanOrEqual(0.95);
  });
}

const PATH = '/api/rag/collections/laws';

async function read(box: TestBox) {
  return (await call<{ counts: { ready: number; chunks: number } }>(box, `GET ${PATH}`)).body.counts;
}

async function search(box: TestBox, query: string, mode: string) {
  const { body } = await call<{ items: { documentId: string; similarity: number | null }[] }>(
    box,
    `POST ${PATH}/search`,
    { query, mode, topK: 10 },
  );
  return body.items;
}

/** Texts a third of whose words the laws have, always the same. */
function makeNoise(): string[] {
  const words = AMENDMENTS.flatMap(({ text }) => text.split(/\s+/));
  let state = 7;
  const next = (most: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % most;
  };
  return Array.from({ length: NOISE }, () =>
    Array.from({ length: 20 + next(50) }, () => (next(3) > 0 ? `word${next(4_000)}` : words[next(words.length)])).join(
      ' ',
    ),
  );
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
}

async function administer(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
