import { randomUUID } from 'node:crypto';
import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import { openCollection } from './collections.ts';
import { collectionNotFound } from './errors.ts';
import { probeModel } from './probe-model.ts';
import type { BuildingStore, CollectionStore } from './store.ts';

export interface ReindexOptions {
  /** Default: the one the collection has. */
  model?: string;
  /** Numbers of a vector. Default: as many as it was asked for before, of the same model; else as many as the model gives. */
  dimension?: number;
}

/** Re-embeds collections, beside what answers meanwhile. */
export interface Reindexing {
  /** Asks the model once and begins; the documents are embedded as those that are added are. Throws as `Collections` do. */
  begin(name: string, options: ReindexOptions, signal: AbortSignal): Promise<void>;
  /** Has what is whole answer, and drops what has answered before. */
  settle(): Promise<void>;
}

export interface ReindexingOptions {
  store: CollectionStore;
  building: BuildingStore;
  callEmbeddings: CallEmbeddings;
}

export function createReindexing({ store, building, callEmbeddings }: ReindexingOptions): Reindexing {
  // A process that was killed may have left some.
  let areLeft = true;
  let settling: Promise<void> | undefined;
  const settle = async (): Promise<void> => {
    if ((await building.switch()) > 0) areLeft = true;
    if (areLeft) areLeft = !(await building.dropLeft());
  };
  return {
    async begin(name, { model: given, dimension: wanted }, signal) {
      const { collection, index } = await openCollection(store, name);
      const { id: collectionId } = collection;
      const model = given ?? index.model;
      const indexes = (await store.listIndexes(collectionId)).map((each) => each.index);
      const alike = indexes.filter((each) => each.model === model);
      const before = alike.find(({ state }) => state === 'building') ?? alike[0];
      const asked = wanted ?? (before?.isDimensionAsked ? before.dimension : undefined);
      const dimension = await probeModel(callEmbeddings, { model, dimension: asked, signal });
      const next = { id: randomUUID(), collectionId, model, dimension, isDimensionAsked: asked !== undefined };
      const isBegun = await building.begin(collectionId, { ...next, state: 'building', createdAt: new Date() });
      if (!isBegun) throw collectionNotFound(name);
      areLeft = true;
    },
    settle: () => (settling ??= settle().finally(() => (settling = undefined))),
  };
}
