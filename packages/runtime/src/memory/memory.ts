import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import type { Recalled, TurnMemory } from '../agents/turn/memory.ts';
import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import { isTimePlace, parseCursor, toCursor } from '../operations/cursor.ts';
import { countTokens } from '../rag/cutting/tokens.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { createMemoryEmbedding, MEMORY_LIMITS } from './embedding.ts';
import type { MemoryLimits } from './embedding.ts';
import { createMemoryJobs } from './jobs.ts';
import { toPieces } from './pieces.ts';
import { createMemoryStore } from './rows.ts';
import type { Remembered } from './schemas.ts';
import type { MemoryFilter, RememberedRow } from './store.ts';

/** What agents remember of the sessions of their end users: recalled by what is asked, and kept after each turn. */
export interface Memory extends TurnMemory {
  /** The newest first. Throws `invalid_cursor`. */
  list(
    filter: MemoryFilter,
    page: { limit: number; cursor?: string },
  ): Promise<{ items: Remembered[]; nextCursor: string | null }>;
  /** Answers how many turns are forgotten. */
  clear(filter: MemoryFilter & { user: string }): Promise<number>;
  /** Embeds what is due, unless that is under way. Never waits and never throws. */
  sweep(): void;
  close(): Promise<void>;
}

export interface MemoryRoomOptions {
  db: Drizzle;
  log: Log;
  mask: Pick<Mask, 'textFor'>;
  callEmbeddings: CallEmbeddings;
  /** The embedding model of the workspace. */
  embeddingModel(): string | undefined;
  /** The agents whose definition says that they remember. */
  agents(): readonly string[];
  isOpen(): boolean;
  limits?: Partial<MemoryLimits> | undefined;
}

export function createMemory(options: MemoryRoomOptions): Memory {
  const { db, log, mask, callEmbeddings, embeddingModel, agents, isOpen } = options;
  const limits = { ...MEMORY_LIMITS, ...options.limits };
  const store = createMemoryStore(db, limits.pieces);
  const jobs = createMemoryJobs(db, limits.leaseMs);
  const embedding = createMemoryEmbedding({ jobs, callEmbeddings, model: embeddingModel, agents, log, isOpen, limits });
  let hasSaidNoModel = false;
  const isOn = (agent: string): boolean => agents().includes(agent);
  const complain = (what: string, agent: string, error: unknown): void =>
    log.warn(`${what}: ${error instanceof Error ? error.message : String(error)}`, { agent });

  return {
    async recall({ of, query, options: { topK = 4, minScore = 0.3, maxTokens = 800 }, signal, embed }) {
      try {
        const model = embeddingModel();
        if (model === undefined) {
          if (!hasSaidNoModel) log.warn(NO_MODEL, { agent: of.agent });
          hasSaidNoModel = true;
          return [];
        }
        // Whoever has no earlier session costs no call.
        if (!(await store.hasAny(of, model))) return [];
        const { vectors } = await embed({ model, input: [query], timeout: RECALL_MS, maxRetries: 0 });
        const [vector = []] = vectors;
        const near = await store.nearest(of, { model, vector, limit: topK });
        let left = maxTokens;
        return near
          .filter(({ score, text }) => score >= minScore && (left -= countTokens(text)) >= 0)
          .map(({ runId, n, sessionId, at, score }): Recalled => ({ runId, n, sessionId, at, score }));
      } catch (error) {
        if (signal.aborted) throw error;
        complain('A turn goes on without the memory of earlier sessions', of.agent, error);
        return [];
      }
    },
    async read(pieces, of) {
      if (!isOn(of.agent)) return [];
      try {
        const texts = new Map((await store.read(of, pieces)).map(({ runId, n, text }) => [`${runId} ${n}`, text]));
        return pieces.flatMap((piece) => {
          const text = texts.get(`${piece.runId} ${piece.n}`);
          return text === undefined ? [] : [{ ...piece, text }];
        });
      } catch (error) {
        complain('A turn goes on without the memory of earlier sessions', of.agent, error);
        return [];
      }
    },
    async keep({ of, runId, messages }) {
      if (!isOn(of.agent)) return;
      try {
        const pieces = await toPieces(messages, mask);
        if (pieces.length > 0 && (await store.add(of, runId, pieces))) embedding.wake();
      } catch (error) {
        complain('A turn will not be remembered', of.agent, error);
      }
    },
    async list(filter, { limit, cursor }) {
      const after = cursor === undefined ? undefined : parseCursor(cursor, isTimePlace);
      const rows = await store.list(filter, { after, limit: limit + 1 });
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      return { items: rows.slice(0, limit).map(toRemembered), nextCursor: last ? toCursor(last.at, last.runId) : null };
    },
    clear: (filter) => store.clear(filter),
    sweep: () => embedding.sweep(),
    close: () => embedding.close(),
  };
}

// --- internal ---

/** Of the call that embeds a question: the turn waits for it. */
const RECALL_MS = 5_000;
const NO_MODEL =
  'Nothing is recalled of earlier sessions: no embedding model is selected. Set "embeddingModel" in svc.config.ts.';

function toRemembered({ userId: user, createdAt, runId, sessionId, agent, client, ...row }: RememberedRow): Remembered {
  const { state, error, pieces } = row;
  return { runId, sessionId, agent, client, user, state, error, pieces, createdAt: createdAt.toISOString() };
}
