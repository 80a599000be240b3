import { sqlStateOf } from './errors.ts';
import type { Opened } from './store.ts';

/** What reads the index of a collection while another may take its place. */
export interface Steady {
  /** Once more where its table was replaced by that of another index in between. Throws `rag_collection_not_found`. */
  read<T>(name: string, work: (opened: Opened) => Promise<T>): Promise<T>;
  /**
   * As `read`, and begins with the collection as it was when it was last read so, while it is asked whether it still is: what
   * was done with another is done again. It is for work that does nothing but read.
   */
  readAtOnce<T>(name: string, work: (opened: Opened) => Promise<T>): Promise<T>;
}

export function createSteady(open: (name: string) => Promise<Opened>): Steady {
  const lately = new Map<string, Opened>();
  const keep = (name: string, opened: Opened): void => {
    if (lately.size >= MOST_KEPT) lately.clear();
    lately.set(name, opened);
  };
  const read: Steady['read'] = async (name, work) => {
    for (let opened = await open(name); ;) {
      const { index } = opened;
      keep(name, opened);
      try {
        return await work(opened);
      } catch (error) {
        if (!isTableGone(error)) throw error;
        opened = await open(name);
        if (opened.index.id === index.id) throw error;
      }
    }
  };
  return {
    read,
    async readAtOnce(name, work) {
      const before = lately.get(name);
      if (!before) return read(name, work);
      const begun = work(before);
      // What is void is waited for by no one: its model may be the one that no longer answers.
      begun.catch(() => {});
      const opened = await open(name).catch((error: unknown) => {
        lately.delete(name);
        throw error;
      });
      if (!isAlike(before, opened)) return read(name, work);
      return begun.catch((error: unknown) => {
        if (isTableGone(error)) return read(name, work);
        throw error;
      });
    },
  };
}

// --- internal ---

/** Collections. More than a box has. */
const MOST_KEPT = 500;

/** What Postgres says of a table that is no more. */
function isTableGone(error: unknown): boolean {
  return sqlStateOf(error) === '42P01';
}

/** For whoever reads: an index stays what it is. */
function isAlike(one: Opened, other: Opened): boolean {
  return one.index.id === other.index.id && one.collection.rerankModel === other.collection.rerankModel;
}
