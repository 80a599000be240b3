import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { grow, startGrowthBox } from './_growth.ts';
import type { Grown, GrowthBox } from './_growth.ts';
import { SHAPES } from './_growth-shapes.ts';
import type { Shape } from './_growth-shapes.ts';

export const SHAPE_NAMES = Object.keys(SHAPES);

export interface GrowthOptions {
  names: readonly string[];
  bytes: number;
  /** How often a size is made four times as large on the way to that. */
  steps: number;
  /**
   * Milliseconds that nothing holds the event loop of a quick machine: far more than is measured, and far less than a square
   * would take. A slower machine, or one at work besides, has as many times more.
   */
  mostMs: number;
  /** A server to keep it all on. Default: SQLite, and the embedded one. */
  server?: string;
}

/** Below this, what is measured says nothing of how it grows. */
const FLOOR_MS = 250;

/** In which a quick machine encodes and parses so many bytes. */
const YARDSTICK = { bytes: 8 * 1_048_576, ms: 100 };

/** What grows is tried four times, each of up to eight sizes. */
const TRIES = 4;
const TIMEOUT = 600_000;

/** Grows requests to their limits against a box in a process of its own, and watches its event loop. */
export function describeGrowth(title: string, { names, bytes, steps, mostMs, server }: GrowthOptions): void {
  const isMeasured = existsSync('/proc/self/schedstat');
  describe.skipIf(!isMeasured)(`${title}${isMeasured ? '' : ' [needs /proc/self/schedstat]'}`, () => {
    let box: GrowthBox;
    let database: Awaited<ReturnType<typeof createDatabase>> | undefined;
    beforeAll(async () => {
      database = server === undefined ? undefined : await createDatabase(server);
      box = await startGrowthBox(database?.url);
    });
    afterAll(async () => {
      await box?.close();
      await database?.drop();
    });

    test.each(names)('%s', { timeout: TIMEOUT }, async (name) => {
      const shape = SHAPES[name] as Shape;
      let found: Grown[] = [];
      // The collector's work, or a busy machine's, falls on one size or another; that of a square on the same one each time. So of
      // each size its quickest time counts.
      const quickest = new Map<number, Grown>();
      for (let tries = 0; tries < TRIES; tries++) {
        const tried = await grow(box, shape, { bytes, steps });
        for (const one of tried) quickest.set(one.size, toQuicker(one, quickest.get(one.size)));
        const grown = [...quickest.values()];
        if (process.env['GROWTH_LOG']) process.stderr.write(`${name}: ${grown.map(toText).join(', ')}\n`);
        expect(grown.filter(({ status }) => status >= 500)).toEqual([]);
        const accepted = grown.filter(({ status }) => status < 400).sort((a, b) => a.size - b.size);
        expect(accepted.length > 0).toBe(!shape.isWrong);
        const held = await filterHeld(box, grown, mostMs);
        found = held.length > 0 ? held : (findJump(accepted) ?? []);
        if (found.length === 0) return;
      }
      expect(found).toEqual([]);
    });
  });
}

// --- internal ---

function toQuicker(one: Grown, other: Grown = one): Grown {
  return { ...one, held: Math.min(one.held, other.held), read: Math.min(one.read, other.read) };
}

/** Those that held the event loop for too long, on a machine as fast as this one is now. */
async function filterHeld(box: GrowthBox, grown: readonly Grown[], mostMs: number): Promise<Grown[]> {
  const isOver = (limit: number) => (one: Grown) => Math.max(one.held, one.read) > limit;
  if (!grown.some(isOver(mostMs))) return [];
  const slowness = (await box.yardstick(YARDSTICK.bytes)) / YARDSTICK.ms;
  return grown.filter(isOver(mostMs * Math.max(1, slowness)));
}

/** Two sizes of which the larger one took more than twice what it has grown by. */
function findJump(accepted: readonly Grown[]): [Grown, Grown] | undefined {
  for (const [index, next] of accepted.entries()) {
    const before = accepted[index - 1];
    if (before && next.held > Math.max(FLOOR_MS, before.held * 2 * (next.size / before.size))) return [before, next];
  }
  return undefined;
}

function toText({ bytes, status, held, read }: Grown): string {
  return `${(bytes / 1_048_576).toFixed(2)} MiB ${status} ${held.toFixed(0)} ms${read > 0 ? ` (read ${read.toFixed(0)})` : ''}`;
}
