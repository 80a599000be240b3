import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import { BoxError } from '../errors.ts';
import { MOST_DIMENSIONS } from './chunk-table.ts';
import { toAskedError } from './errors.ts';
import { requireDimension } from './vectors.ts';

export interface Probe {
  model: string;
  /** How many it is asked for. Undefined: as many as it gives. */
  dimension: number | undefined;
  signal: AbortSignal;
}

/** How many numbers the vectors of the model have, by asking it for one. Throws what the provider refuses, and `rag_collection_invalid`. */
export async function probeModel(call: CallEmbeddings, { model, dimension, signal }: Probe): Promise<number> {
  const asked = { model, input: ['dimension'], dimensions: dimension, timeout: PROBE_MS };
  const { vectors } = await call(asked, { signal, onTokens: () => {} }).catch((error: unknown) => {
    throw toAskedError(error);
  });
  const found = vectors[0]?.length ?? 0;
  if (dimension !== undefined) requireDimension(model, dimension, found);
  if (found <= MOST_DIMENSIONS) return found;
  throw new BoxError(
    'rag_collection_invalid',
    `The vectors of "${model}" have ${found} numbers, and an index takes at most ${MOST_DIMENSIONS}. Ask for fewer with "dimension", or take another model.`,
  );
}

// --- internal ---

const PROBE_MS = 30_000;
