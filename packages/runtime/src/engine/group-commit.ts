import { real } from './real.ts';

export interface GroupCommit<E, R> {
  /** Settles with the entry's own answer once the commit it rode with is done. */
  add(entry: E): Promise<R>;
  /** Resolves when nothing waits and no commit is under way. */
  idle(): Promise<void>;
}

export interface GroupCommitOptions<E> {
  /** Most entries in one commit. */
  maxEntries?: number;
  /** A commit takes no further entry once its sizes sum up to this. An entry larger than that goes alone. */
  maxBytes?: number;
  sizeOf?: (entry: E) => number;
  /** Entries of one key never share a commit, and keep their order. */
  keyOf?: (entry: E) => string;
}

/**
 * One commit is under way at a time; what arrives meanwhile goes with the next. Each commit begins in a turn of the
 * event loop of its own, so everything one turn produced shares it, and a synchronous store cannot starve the loop.
 * `commit` answers one result per entry, in order; a result that is an `Error` rejects its own caller only.
 * If `commit` itself fails, exactly the callers of that batch are rejected.
 */
export function createGroupCommit<E, R>(
  commit: (entries: E[]) => (R | Error)[] | Promise<(R | Error)[]>,
  options: GroupCommitOptions<E> = {},
): GroupCommit<E, R> {
  let queue: Waiting<E, R>[] = [];
  let busy = false;
  let idlers: (() => void)[] = [];
  /** How many commits in a row had one entry. */
  let lonely = 0;

  function schedule(): void {
    busy = queue.length > 0;
    if (busy) {
      // A caller that was alone in the last commits is alone in this one, most likely: it need not wait a turn. Among
      // many, an immediate: microtasks would run on in the same turn and commit every entry alone.
      if (lonely >= LONELY) queueMicrotask(flush);
      else real.setImmediate(flush);
      return;
    }
    const done = idlers;
    idlers = [];
    for (const resolve of done) resolve();
  }

  function flush(): void {
    const { batch, rest } = takeBatch(queue, options);
    queue = rest;
    lonely = batch.length === 1 && rest.length === 0 ? lonely + 1 : 0;
    const fail = (error: unknown): void => {
      rejectAll(batch, error);
      schedule();
    };
    const succeed = (results: (R | Error)[]): void => {
      settleAll(batch, results);
      schedule();
    };
    try {
      const answer = commit(batch.map((waiting) => waiting.entry));
      if (answer instanceof Promise) answer.then(succeed, fail);
      else succeed(answer);
    } catch (error) {
      fail(error);
    }
  }

  return {
    add: (entry) =>
      new Promise<R>((resolve, reject) => {
        queue.push({ entry, resolve, reject });
        if (!busy) schedule();
      }),
    idle: () =>
      new Promise<void>((resolve) => {
        if (busy) idlers.push(resolve);
        else resolve();
      }),
  };
}

// --- internal ---

/** So many commits of one entry in a row, and the next is not held back for company. */
const LONELY = 3;

interface Waiting<E, R> {
  entry: E;
  resolve: (result: R) => void;
  reject: (error: unknown) => void;
}

interface Taken<E, R> {
  batch: Waiting<E, R>[];
  rest: Waiting<E, R>[];
}

function takeBatch<E, R>(queue: Waiting<E, R>[], options: GroupCommitOptions<E>): Taken<E, R> {
  const { maxEntries = 500, maxBytes = Infinity, sizeOf, keyOf } = options;
  const batch: Waiting<E, R>[] = [];
  const rest: Waiting<E, R>[] = [];
  const keys = new Set<string>();
  let bytes = 0;
  for (const [index, waiting] of queue.entries()) {
    const size = sizeOf?.(waiting.entry) ?? 0;
    const full = batch.length >= maxEntries || (batch.length > 0 && bytes + size > maxBytes);
    if (full) return { batch, rest: rest.concat(queue.slice(index)) };
    const key = keyOf?.(waiting.entry);
    if (key !== undefined && keys.has(key)) {
      rest.push(waiting);
      continue;
    }
    if (key !== undefined) keys.add(key);
    bytes += size;
    batch.push(waiting);
  }
  return { batch, rest };
}

function settleAll<E, R>(batch: Waiting<E, R>[], results: (R | Error)[]): void {
  if (results.length !== batch.length) {
    rejectAll(batch, new Error(`A commit of ${batch.length} entries answered ${results.length} results.`));
    return;
  }
  for (const [index, waiting] of batch.entries()) {
    const result = results[index] as R | Error;
    if (result instanceof Error) waiting.reject(result);
    else waiting.resolve(result);
  }
}

function rejectAll<E, R>(batch: Waiting<E, R>[], error: unknown): void {
  for (const waiting of batch) waiting.reject(error);
}
