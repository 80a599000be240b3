import { createBox } from '../box.ts';
import type { Box } from '../box.ts';
import type { CallModel } from '../agents/model/client.ts';
import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import type { StoreClock } from '../engine/clock.ts';
import type { Journal } from '../engine/journal.ts';
import { createLog } from '../log.ts';
import type { MasterKey } from '../secrets/seal.ts';
import type { BoxStorage } from '../storage/storage.ts';
import type { StoreClient } from '../stores/client.ts';
import type { PgliteClient } from '../stores/pglite.ts';
import { createDrizzle } from '../stores/drizzle.ts';
import { rerankByWords } from './embeddings.ts';
import { createProcess } from './process.ts';
import type { TestProcess } from './process.ts';
import { toProgram } from './program.ts';
import type { TestProgram } from './program.ts';
import { rest } from './rest.ts';

/** One process's time as the box: from its boot until it is closed or dies. */
export interface Life {
  box: Box;
  process: TestProcess;
  /** Fails when the process dies first. */
  alive<T>(work: Promise<T>): Promise<T>;
  /** A request of the box's HTTP API; throws the error it is answered with. */
  call<T>(route: string, body?: unknown): Promise<T>;
  /**
   * Resolves once no run moves any more. With `limit` (milliseconds of the machine's clock) steps and model calls under way
   * are waited for, and it rejects when they take longer; without, one that goes on for longer than a second is left alone.
   */
  settle(limit?: number): Promise<void>;
  close(): Promise<void>;
}

export interface LifeOptions extends TestProgram {
  hash: string;
  journal: Journal;
  database: StoreClient;
  pglite(): Promise<PgliteClient>;
  /** What secrets are sealed with: the same for every life. */
  secretKey: MasterKey;
  isBlank(): boolean;
  /** Resolves when the database is not being opened: true when it was. */
  settled(): Promise<boolean>;
  storage: BoxStorage;
  clock: StoreClock;
  callModel: CallModel;
  callEmbeddings: CallEmbeddings;
  logs: Record<string, unknown>[];
}

export async function beginLife(options: LifeOptions): Promise<Life> {
  const process = createProcess();
  const { journal, database, clock, callModel, callEmbeddings, logs } = options;
  const program = toProgram(options, options.hash);
  const db = process.holdDatabase(database);
  const box = await createBox({
    host: 'dev',
    isNewestForAll: true,
    slug: 'test-box',
    log: createLog({ level: 'warn', write: (line) => logs.push(JSON.parse(line) as Record<string, unknown>) }),
    journal: process.holdJournal(journal),
    exclusive: true,
    // Every wait leaves memory, so that a body is replayed as it would be in another process.
    engine: { clock, around: process.around, limits: { parkAfter: 0 }, pollMs: 20, sweepMs: 200 },
    callModel,
    callEmbeddings,
    callRerank: rerankByWords,
    provider: PROVIDER,
    db: createDrizzle(db, db.ready),
    readable: { kind: 'embedded', pglite: options.pglite },
    secretKey: options.secretKey,
    isBlank: options.isBlank,
    // What settings and the catalog say in an empty store is known without opening it.
    isDatabaseOpen: () => !options.isBlank(),
    storage: options.storage,
    defaultModel: () => 'test/model',
    embeddingModel: () => 'test/embeddings',
    rerankModel: () => 'test/rerank',
    loadProgram: async () => program,
    probes: {},
    services: () => ({ database: { url: null }, storage: null, agent: { url: 'http://127.0.0.1:4242' } }),
  });
  const alive = <T>(work: Promise<T>): Promise<T> => Promise.race([work, process.died]);
  const life: Life = {
    box,
    process,
    alive,
    call: (route, body) => alive(call(box, { route, body, logs })),
    settle: (limit) => alive(settle(box, process, options, limit)),
    async close() {
      process.bury();
      await box.close();
    },
  };
  await box.gate.check();
  const [problem] = box.problems();
  if (!problem) return life;
  await life.close();
  throw new Error(problem.message);
}

// --- internal ---

/** There is one, so the gate is open; it is never called. */
const PROVIDER = {
  environment: { baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'none' },
  store: { read: async () => undefined, write: async () => {}, remove: async () => {} },
  egress: { allowLoopback: true, allowed: [] },
};

/** However long the database takes to open, that is none of what a step is given. */
async function settle(
  box: Box,
  process: TestProcess,
  { settled, journal }: LifeOptions,
  limit?: number,
): Promise<void> {
  const resting = { box, process, journal, limit };
  await rest(resting);
  if (await settled()) await rest(resting);
}

interface Call {
  route: string;
  body: unknown;
  logs: readonly Record<string, unknown>[];
}

async function call<T>(box: Box, { route, body, logs }: Call): Promise<T> {
  const [method = 'GET', path = ''] = route.split(' ');
  const init = method === 'GET' ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await box.request(path, { method, ...init });
  const answered = (await answer.json()) as { code?: string; message?: string; details?: unknown };
  if (answer.ok) return answered as T;
  const { code, details } = answered;
  // What is kept from a caller, a test may see: it is in the log.
  const cause = code === 'internal' ? logs.at(-1)?.error : undefined;
  throw Object.assign(new Error(answered.message, { cause }), { code, status: answer.status, details });
}
