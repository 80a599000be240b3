export interface Rarely<T> {
  say: (item: T) => void;
  /** Of those with the name: how many were not said. */
  sayLeftOut: (name: string, count: number) => void;
  /** Milliseconds for which a name is not said again. */
  quietMs: number;
}

/** Says the first of each name, and after `quietMs` how many more there were. */
export function createRarely<T extends { name: string }>({ say, sayLeftOut, quietMs }: Rarely<T>) {
  const leftOut = new Map<string, { count: number; timer: ReturnType<typeof setTimeout> }>();

  const report = (name: string): void => {
    const count = leftOut.get(name)?.count ?? 0;
    leftOut.delete(name);
    if (count > 0) sayLeftOut(name, count);
  };
  return {
    add(item: T): void {
      const known = leftOut.get(item.name);
      if (known) {
        known.count += 1;
        return;
      }
      const timer = setTimeout(report, quietMs, item.name);
      timer.unref();
      leftOut.set(item.name, { count: 0, timer });
      say(item);
    },
    /** Says what there is to say. */
    close(): void {
      for (const [name, { timer }] of leftOut) {
        clearTimeout(timer);
        report(name);
      }
    },
  };
}
