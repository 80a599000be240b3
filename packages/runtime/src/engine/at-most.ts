import { real } from './real.ts';

/** Waits for the work, and no longer than that. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([work, new Promise((resolve) => (timer = real.setTimeout(resolve, ms)))]);
  real.clearTimeout(timer);
}
