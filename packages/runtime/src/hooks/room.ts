import type { Approvals } from '../approvals/approvals.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { Log } from '../log.ts';
import { defineRoom } from '../operations/room.ts';
import { createHooks } from './hooks.ts';
import { resumeHook } from './operations.ts';
import { createHookSignals } from './signal.ts';

export interface Given {
  journal: Journal;
  engine: Engine;
  approvals: Approvals;
  log: Log;
}

export const hooksRoom = defineRoom({
  name: 'hooks',
  operations: [resumeHook],
  create: ({ journal, engine, approvals }: Omit<Given, 'log'>) => createHooks({ journal, engine, approvals }),
});

/** Payloads for hooks that may not be there yet. */
export const signalsRoom = defineRoom({
  name: 'signals',
  operations: [],
  create: ({ journal, engine, log }: Omit<Given, 'approvals'>) => createHookSignals({ journal, engine, log }),
  close: (signals) => signals.close(),
});
