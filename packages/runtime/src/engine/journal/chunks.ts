/** A frame a step wrote to a stream of its run. */
export interface NewChunk {
  namespace: string;
  payload: string;
}

export interface Chunk extends NewChunk {
  /** 1, 2, 3 … per run, over all namespaces. */
  n: number;
}

export interface ChunkStore {
  /** For a run this epoch holds; also while a step runs. Answers the last `n`; undefined: fenced or final. */
  write(runId: string, epoch: number, chunks: NewChunk[]): Promise<number | undefined>;
  /** In order, after `after`. */
  read(runId: string, namespace: string, page: { after: number; limit: number }): Promise<Chunk[]>;
}
