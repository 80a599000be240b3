/** Resolves with the first SIGTERM or SIGINT; the next ends the process. Node as pid 1 gets no signal it does not ask for. */
export function untilStopped(): Promise<undefined> {
  return new Promise((done) => {
    let asked = false;
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      process.on(name, () => {
        if (asked) process.exit(1);
        asked = true;
        done(undefined);
      });
    }
  });
}
