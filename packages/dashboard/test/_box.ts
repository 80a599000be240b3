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

/** One box for all tests of a file, which listens, with the dashboard it serves. */
export function serveBox(options: TestBoxOptions = {}): () => ServedBox {
  const boxes = setupBoxes();
  const open = boxes.share(options);
  let served: ServedBox;
  beforeAll(async () => {
    const box = await open();
    mountDashboard(box, 'test-box');
    const url = await box.listen();
    served = { box, url, studio: (path) => `${url}/studio${path}` };
  });
  return () => served;
}
