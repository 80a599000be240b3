import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';

/** A provider of embeddings and of a rerank over HTTP: texts that share words are near to each other, and relevant that have them in a row. */
export interface EmbeddingServer {
  /** As a provider's base address. */
  url: string;
  /** Every text that a vector was made of, in order. */
  inputs: string[];
  /** Texts of each call. */
  batches: number[];
  /** Answers so many calls with this status, before others are answered again. */
  fail(status: number, calls?: number): void;
  /** What a rerank was asked, in order. */
  reranks: AskedRerank[];
  /** Answers so many reranks with this status and body, before others are answered again. */
  failRerank(status: number, calls?: number, body?: unknown): void;
  /** Holds every answer of a rerank back until what it returns is called. */
  holdRerank(): () => void;
  /** Holds every answer back until what it returns is called. */
  hold(): () => void;
  close(): Promise<void>;
}

export interface AskedRerank {
  model: string;
  query: string;
  documents: string[];
  top_n: number;
}

/** `dimensions`: numbers of a vector by the name of the model. Default: 64. */
export async function startEmbeddingServer(dimensions: Record<string, number> = {}): Promise<EmbeddingServer> {
  const inputs: string[] = [];
  const batches: number[] = [];
  const failing = { status: 0, calls: 0 };
  const reranks: AskedRerank[] = [];
  const failingReranks = { status: 0, calls: 0, body: {} as unknown };
  let held: Promise<void> = Promise.resolve();
  let heldRerank: Promise<void> = Promise.resolve();
  const server = createServer(async (request, response) => {
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    const given = JSON.parse(await readText(request)) as object;
    if (request.url === '/v1/rerank') {
      const wanted = given as AskedRerank;
      reranks.push(wanted);
      await heldRerank;
      if (failingReranks.calls-- > 0) return answer(failingReranks.status, failingReranks.body);
      return answer(200, {
        model: wanted.model,
        results: rank(wanted),
        usage: { total_tokens: wanted.documents.length },
      });
    }
    const asked = given as { model: string; input: string[]; dimensions?: number };
    if (request.url !== '/v1/embeddings') return answer(404, { error: { message: 'There is no such route.' } });
    if (failing.calls-- > 0) return answer(failing.status, { error: { message: 'Not now.' } });
    await held;
    inputs.push(...asked.input);
    batches.push(asked.input.length);
    const size = asked.dimensions ?? dimensions[asked.model] ?? 64;
    const data = asked.input.map((text, index) => ({ index, embedding: toVector(text, size) }));
    answer(200, { model: asked.model, data, usage: { prompt_tokens: asked.input.length, total_tokens: 0 } });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    inputs,
    batches,
    fail: (status, calls = 1) => void Object.assign(failing, { status, calls }),
    reranks,
    failRerank: (status, calls = 1, body = { error: { message: 'Not now.' } }) =>
      void Object.assign(failingReranks, { status, calls, body }),
    holdRerank() {
      let release = () => {};
      heldRerank = new Promise((resolve) => (release = resolve));
      return release;
    },
    hold() {
      let release = () => {};
      held = new Promise((resolve) => (release = resolve));
      return release;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Words, each at places of its own, as long as one. */
export function toVector(text: string, size: number): number[] {
  const vector = Array.from({ length: size }, () => 0);
  for (const word of toWords(text))
    for (const seed of [0x811c9dc5, 0x01000193]) {
      const hash = hashWord(word, seed);
      vector[hash % size] = (vector[hash % size] ?? 0) + (hash & 0x10000 ? 1 : -1);
    }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

/** By the longest part of the query that a document has word for word. */
function rank({ query, documents, top_n: most }: AskedRerank) {
  const words = toWords(query);
  return documents
    .map((text, index) => ({ index, relevance_score: longestRun(words, toWords(text)) / words.length }))
    .sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
    .slice(0, most);
}

function longestRun(wanted: readonly string[], words: readonly string[]): number {
  let longest = 0;
  for (let from = 0; from < wanted.length; from++)
    for (let at = 0; at < words.length; at++) {
      let run = 0;
      while (wanted[from + run] !== undefined && wanted[from + run] === words[at + run]) run += 1;
      longest = Math.max(longest, run);
    }
  return longest;
}

function toWords(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function hashWord(word: string, seed: number): number {
  let hash = seed;
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}
