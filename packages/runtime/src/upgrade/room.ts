import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import { defineRoom } from '../operations/room.ts';
import { applyUpgrade, checkUpgrade } from './operations.ts';
import { createUpgrade } from './upgrade.ts';

export interface Given {
  catalog: Pick<Catalog, 'findAgent' | 'findWorkflow'>;
  engine: Engine;
  journal: Journal;
}

export const upgradeRoom = defineRoom({
  name: 'upgrade',
  operations: [checkUpgrade, applyUpgrade],
  create: ({ catalog, engine, journal }: Given) => createUpgrade({ catalog, engine, journal }),
});
