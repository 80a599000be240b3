// @ts-check
/**
 * This checkout beside another one that is installed and built, in the same minutes: what the door of a deployed box adds to a
 * request (of an operator, of an API key, of a key with limits), in time of the processor, and a turn of a key with and without a
 * session, as its caller waits for it and in time of the box's processor. Each is measured in turns, the two after one another, and
 * the medians are printed: on a busy machine the times of the processor say more.
 *   node bench/beside.mjs <other checkout> [--only postgres] [--rounds 9]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startChild } from './_child.mjs';
import { listStores } from './_engine-stores.mjs';
import { median, round } from './_stats.mjs';
import { sendTurn } from './_turn.mjs';

const { values: options, positionals } = parseArgs({
  args: process.argv.slice(2),
  options: { only: { type: 'string' }, rounds: { type: 'string' } },
  allowPositionals: true,
});
const ROUNDS = Number(options.rounds ?? 9);
const REQUESTS = 2_000;
const TURNS = 60;
const STORES = ['sqlite synced', 'postgres'];
const SIDES = { before: resolve(positionals[0] ?? ''), now: fileURLToPath(new URL('..', import.meta.url)) };

print({ bench: 'beside', sides: SIDES, rounds: ROUNDS, load: loadavg() });
for (const store of listStores(options.only ?? '').filter(({ name }) => STORES.includes(name))) await measure(store);
print({ bench: 'beside', load: loadavg() });

// --- internal ---

/** @param {import('./_engine-stores.mjs').Store} store */
async function measure(store) {
  const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'svc-bench-beside-'));
  const provider = startChild('_agent-provider.mjs', {});
  /** @type {(() => unknown)[]} */
  const closers = [() => rmSync(folder, { recursive: true, force: true }), provider.kill];
  try {
    const providerUrl = await provider.ask('open');
    const boxes = await Promise.all(
      Object.entries(SIDES).map(async ([side, root]) => {
        const { place, close } = await store.open(mkdtempSync(join(folder, side)));
        closers.push(close);
        const box = startChild('_beside-box.mjs', { root, provider: providerUrl, place: place('beside') });
        closers.push(box.kill);
        return { side, box, url: await box.ask('open'), callers: await box.ask('callers') };
      }),
    );
    for (const of of ['operator', 'key', 'limited'])
      await alternate({ store: store.name, bench: 'beside.door', of }, boxes, async ({ box }) => ({
        added_cpu_us: await box.ask('door', { of, count: REQUESTS }),
      }));
    for (const of of ['key', 'limited'])
      for (const isOnSession of [false, true]) {
        let sessions = 0;
        await alternate(
          { store: store.name, bench: isOnSession ? 'beside.session_turn' : 'beside.turn', of },
          boxes,
          async ({ box, url, callers }) => {
            const name = `${of} ${++sessions}`;
            const session = isOnSession ? { 'x-svc-session': name } : {};
            const headers = { ...(callers[of] ?? callers.key), ...session };
            const way = { url: `${url}/wire-a/v1/chat/completions`, headers };
            const times = [];
            const started = await box.ask('cpu');
            for (let n = 0; n < TURNS; n++) times.push((await sendTurn(way, 'please short')).ms);
            return { p50_ms: median(times), cpu_ms: ((await box.ask('cpu')) - started) / 1_000 / TURNS };
          },
        );
      }
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

/**
 * @template B
 * @param {Record<string, string>} what
 * @param {(B & { side: string })[]} boxes
 * @param {(box: B) => Promise<Record<string, number>>} measureOne
 */
async function alternate(what, boxes, measureOne) {
  /** @type {Record<string, Record<string, number>[]>} */
  const seen = {};
  for (let n = -1; n < ROUNDS; n++)
    for (const box of n % 2 ? boxes : boxes.toReversed()) {
      const values = await measureOne(box);
      // The first is for what is compiled and opened once.
      if (n >= 0) (seen[box.side] ??= []).push(values);
    }
  const { before = [], now = [] } = seen;
  /** @type {Record<string, object>} */
  const units = {};
  for (const unit of Object.keys(now[0] ?? {})) {
    const of = (/** @type {Record<string, number>[]} */ values) => values.map((one) => one[unit] ?? NaN);
    const [was, is] = [of(before), of(now)];
    const more = is.map((value, index) => value - (was[index] ?? NaN));
    units[unit] = { before: round(median(was), 2), now: round(median(is), 2), more: round(median(more), 2) };
  }
  print({ ...what, ...units });
}

/** @param {object} line */
function print(line) {
  console.log(JSON.stringify(line));
}
