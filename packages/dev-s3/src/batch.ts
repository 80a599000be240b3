/** Maps with at most 32 at work at a time, which keeps the count of open files low. */
export async function mapBatched<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += BATCH) {
    results.push(...(await Promise.all(items.slice(start, start + BATCH).map(work))));
  }
  return results;
}

// --- internal ---

const BATCH = 32;
