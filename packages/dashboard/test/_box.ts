import { beforeAll } from 'vitest';
import { mountDashboard } from '../../cli/src/dev/dashboard.ts';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import type { TestBox, TestBoxOptions } from '../../runtime/test/_setup.ts';

export interface ServedBox {
  /** As `svc dev` has it: its app serves the dashboard. */
  box: TestBox;
  url: string;
  /** The address of a screen: `studio('/runs')`. */
  studio(path: string): string;
}

/**
 * One box for all tests of a file, which listens, with the dashboard it serves. Options that are a function are asked for
 * once what is above in the file is there.
 */
export function serveBox(options: TestBoxOptions | (() => TestBoxOptions) = {}): () => ServedBox {
  const boxes = setupBoxes();
  let served: ServedBox;
  beforeAll(async () => {
    const given = typeof options === 'function' ? options() : options;
    const box = await boxes.share(given)();
    mountDashboard(box, { slug: 'test-box', storage: given.options?.storage });
    const url = await box.listen();
    served = { box, url, studio: (path) => `${url}/studio${path}` };
  });
  return () => served;
}
