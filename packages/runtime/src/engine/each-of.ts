/**
 * Works on the items in their order, on so many at a time. What one throws is thrown once those that have begun are over; no
 * other begins.
 */
export async function eachOf<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  let hasThrown = false;
  const workers = Array.from({ length: Math.min(atOnce, items.length) }, async () => {
    for (const item of left) {
      if (hasThrown) return;
      await work(item).catch((error: unknown) => {
        hasThrown = true;
        throw error;
      });
    }
  });
  const ends = await Promise.allSettled(workers);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
