/** The same work, done one at a time: whoever asks for it meanwhile shares one that begins after that. */
export function coalesce(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const begin = () => (running = work().finally(() => (running = undefined)));
  return () => {
    if (!running) return begin();
    next ??= running.then(() => {
      next = undefined;
      return running ?? begin();
    });
    return next;
  };
}
