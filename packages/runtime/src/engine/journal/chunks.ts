/** A frame a step wrote to a stream of its run. */
export interface NewChunk {
  namespace: string;
  payload: string;
}

export interface Chunk extends NewChunk {
  /** 1, 2, 3 … per run, over all namespaces. */
  n: number;
}

/** What there is of one stream. */
export interface ChunkList {
  namespace: string;
  /** Frames, without the end. */
  count: number;
  last: number;
  isClosed: boolean;
}

/** Where a frame is: behind `after`, once `skip` more have come. */
export interface FramePlace {
  after: number;
  skip: number;
}

export interface ChunkStore {
  /**
   * For a run this epoch holds; also while a step runs. Null: for one that has handed its stream on. Answers the last `n`;
   * undefined: fenced or final.
   */
  write(runId: string, epoch: number | null, chunks: NewChunk[]): Promise<number | undefined>;
  /** In order, after `after`. */
  read(runId: string, namespace: string, page: { after: number; limit: number }): Promise<Chunk[]>;
  /** The streams of the newest `most` chunks, in the order of their first ones; at most 1,000. */
  list(runId: string, most: number): Promise<ChunkList[]>;
  /** The frame with that index, from 0; below 0 it is counted from the end, and the first one where there are fewer. */
  findFrame(runId: string, namespace: string, index: number): Promise<FramePlace>;
}
