import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';

/** A provider of embeddings and of a rerank over HTTP: texts that share words are near to each other, and relevant that have them in a row. */
export interface EmbeddingServer {
  /** As a provider's base address. */
  url: string;
  /** Every text that a vector was made of, in order. */
  inputs: string[];
  /** Those of one model. */
  inputsOf(model: string): string[];
  /** Forgets what was asked. */
  clear(): void;
  /** Calls that are held back. */
  waiting(): number;
  /** Texts of each call. */
  batches: number[];
  /** What a rerank was asked, in order. */
  reranks: AskedRerank[];
  /** Answers so many reranks with this status and body, before others are answered again. */
  failRerank(status: number, calls?: number, body?: unknown): void;
  /** Holds every answer of a rerank back until what it returns is called. */
  holdRerank(): () => void;
  /** Answers so many calls with this status, before others are answered again. */
  fail(status: number, calls?: number, of?: Meant): void;
  /** Holds every answer back until what it returns is called. */
  hold(of?: Meant): () => void;
  close(): Promise<void>;
}

export interface AskedRerank {
  model: string;
  query: string;
  documents: string[];
  top_n: number;
}

/** Which calls are meant: those of the model, and those with a text that has this in it. Default: all. */
export interface Meant {
  model?: string;
  text?: string;
}

/** `dimensions`: numbers of a vector by the name of the model. Default: 64. */
export async function startEmbeddingServer(dimensions: Record<string, number> = {}): Promise<EmbeddingServer> {
  const inputs: string[] = [];
  const byModel = new Map<string, string[]>();
  const batches: number[] = [];
  const reranks: AskedRerank[] = [];
  const failingReranks = { status: 0, calls: 0, body: {} as unknown };
  let heldRerank: Promise<void> = Promise.resolve();
  const failing = { status: 0, calls: 0, of: {} as Meant };
  let waiting = 0;
  let held = { until: Promise.resolve(), of: {} as Meant };
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
    const isMeant = ({ of: { model = asked.model, text = '' } }: { of: Meant }) =>
      model === asked.model && asked.input.some((each) => each.includes(text));
    if (isMeant(failing) && failing.calls-- > 0) return answer(failing.status, { error: { message: 'Not now.' } });
    waiting += 1;
    if (isMeant(held)) await held.until;
    waiting -= 1;
    // No one waits for it any more.
    if (response.destroyed) return;
    inputs.push(...asked.input);
    byModel.set(asked.model, [...(byModel.get(asked.model) ?? []), ...asked.input]);
    batches.push(asked.input.length);
    const size = asked.dimensions ?? dimensions[asked.model] ?? 64;
    const data = asked.input.map((text, index) => ({ index, embedding: toVector(text, size) }));
    answer(200, { model: asked.model, data, usage: { prompt_tokens: asked.input.length, total_tokens: 0 } });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    inputs,
    inputsOf: (model) => byModel.get(model) ?? [],
    clear() {
      inputs.length = 0;
      batches.length = 0;
      byModel.clear();
    },
    waiting: () => waiting,
    batches,
    reranks,
    failRerank: (status, calls = 1, body = { error: { message: 'Not now.' } }) =>
      void Object.assign(failingReranks, { status, calls, body }),
    holdRerank() {
      let release = () => {};
      heldRerank = new Promise((resolve) => (release = resolve));
      return release;
    },
    fail: (status, calls = 1, of = {}) => void Object.assign(failing, { status, calls, of }),
    hold(of = {}) {
      let release = () => {};
      held = { until: new Promise((resolve) => (release = resolve)), of };
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
