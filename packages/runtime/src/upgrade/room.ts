import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import { defineRoom } from '../operations/room.ts';
import { applyUpgrade, checkUpgrade } from './operations.ts';
import { createUpgrade } from './upgrade.ts';

export interface Given {
  engine: Engine;
  journal: Journal;
}

export const upgradeRoom = defineRoom({
  name: 'upgrade',
  operations: [checkUpgrade, applyUpgrade],
  create: ({ engine, journal }: Given) => createUpgrade({ engine, journal }),
});
