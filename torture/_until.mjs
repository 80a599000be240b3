// @ts-check

/** @param {number} ms */
export function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Polls until the condition holds. False: it did not in time.
 * @param {() => boolean | Promise<boolean>} condition
 * @param {number} [timeoutMs]
 */
export async function until(condition, timeoutMs = 60_000) {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) return false;
    await wait(20);
  }
  return true;
}
