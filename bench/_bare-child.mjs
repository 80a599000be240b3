// @ts-check
import { openBarePglite, openBarePostgres } from './_bare-postgres.mjs';
import { openBareSqlite } from './_bare-sqlite.mjs';
import { readConfig, serve, timed } from './_child.mjs';
import { createFloor } from './_floor.mjs';

// The bare store and the floor, in a process where no AsyncLocalStorage makes promises slower. All answers are seconds.

const OPEN = { sqlite: openBareSqlite, pglite: openBarePglite, postgres: openBarePostgres };

/** @type {import('./_engine-stores.mjs').Place} */
const place = readConfig().place;
const bare = await OPEN[place.type](/** @type {any} */ (place));
let lastId = 0;
const nextId = () => ++lastId;
const floor = createFloor(bare, nextId);

serve({
  /** One run, a commit per step. */
  async bareOne(/** @type {number} */ count) {
    const id = nextId();
    await bare.commit([{ type: 'create', id, seq: 0, payload: '' }]);
    return timed(async () => {
      for (let seq = 0; seq < count; seq++) await bare.commit([{ type: 'step', id, seq, payload: '1' }]);
    });
  },
  /** Many runs, a commit per round of steps. */
  bareMany: (/** @type {{ runs: number, count: number }} */ { runs, count }) =>
    timed(async () => {
      const ids = Array.from({ length: runs }, nextId);
      await bare.commit(ids.map((id) => ({ type: 'create', id, seq: 0, payload: '' })));
      for (let seq = 0; seq < count; seq++)
        await bare.commit(ids.map((id) => ({ type: 'step', id, seq, payload: '1' })));
    }),
  floorOne: (/** @type {number} */ count) => timed(() => floor.run(count)),
  floorMany: (/** @type {{ runs: number, count: number }} */ { runs, count }) =>
    timed(() => Promise.all(Array.from({ length: runs }, () => floor.run(count)))),
  close: () => bare.close(),
});
