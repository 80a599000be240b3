// @ts-check
/**
 * A turn on a session beside one without, in the same box and the same rounds: alone, and 32 at a time on as many sessions; how
 * many statements each is on PostgreSQL; and what a turn takes that comes after 40 others of its session, and after 400.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { startChild } from './_child.mjs';
import { benchStores, listStores } from './_engine-stores.mjs';
import { median, quantile, round } from './_stats.mjs';
import { sendTurn } from './_turn.mjs';

const ROUNDS = 5;
const STORES = ['sqlite synced', 'postgres'];
const CALLERS = 32;
const KEY = { authorization: 'Bearer dev' };

/**
 * @param {(line: object) => void} print
 * @param {{ only?: string | undefined }} options
 */
export async function run(print, { only = '' }) {
  const stores = listStores(only).filter(({ name }) => STORES.includes(name));
  await benchStores({ bench: 'sessions', stores, print }, (root) => (store) => measure(store, root, print));
}

// --- internal ---

/**
 * @param {import('./_engine-stores.mjs').Store} store
 * @param {string} root
 * @param {(line: object) => void} print
 */
async function measure(store, root, print) {
  const { place, close } = await store.open(root);
  const provider = startChild('_agent-provider.mjs', {});
  const box = startChild('_agent-box.mjs', { provider: await provider.ask('open'), place: place('sessions') });
  try {
    const url = `${await box.ask('open')}/wire-a/v1/chat/completions`;
    const turn = async (/** @type {string | undefined} */ session) =>
      (await sendTurn({ url, headers: session ? { ...KEY, 'x-svc-session': session } : KEY }, 'please short')).ms;
    const name = { store: store.name };
    for (let n = 0; n < 200; n++) await turn(n % 2 ? undefined : `warm ${n % 8}`);

    const one = { stateless: /** @type {number[]} */ ([]), session: /** @type {number[]} */ ([]) };
    const many = { stateless: /** @type {number[]} */ ([]), session: /** @type {number[]} */ ([]) };
    for (let at = 0; at < ROUNDS; at++) {
      // Of sessions that are young, so that a turn is not what the ones before it have said.
      for (let n = 0; n < 100; n++) one.session.push(await turn(`one ${at} ${n % 20}`));
      for (let n = 0; n < 100; n++) one.stateless.push(await turn(undefined));
      many.session.push(await rate((caller) => turn(`many ${at} ${caller}`)));
      many.stateless.push(await rate(() => turn(undefined)));
    }
    print({
      bench: 'sessions.turn',
      ...name,
      p50_ms: spread(one, median, 2),
      p95_ms: spread(one, (values) => quantile(values, 0.95), 2),
      adds_ms: round(median(one.session) - median(one.stateless), 2),
    });
    print({ bench: 'sessions.rate', ...name, callers: CALLERS, turns_per_s: spread(many, median, 0) });
    if (store.name === 'postgres')
      print({
        bench: 'sessions.statements',
        ...name,
        session: await statementsOf(box, () => turn('counted')),
        stateless: await statementsOf(box, () => turn(undefined)),
      });
    const long = /** @type {number[][]} */ ([]);
    for (let at = 0; at < 3; at++) {
      const times = /** @type {number[]} */ ([]);
      for (let n = 0; n < 405; n++) times.push(await turn(`long ${at}`));
      long.push(times);
    }
    const around = (/** @type {number} */ n) =>
      round(median(long.flatMap((times) => times.slice(Math.max(0, n - 5), n + 5))), 2);
    print({
      bench: 'sessions.length',
      ...name,
      p50_ms: { turn_5: around(5), turn_40: around(40), turn_400: around(400) },
    });
  } finally {
    await Promise.all([box.kill(), provider.kill()]);
    await close();
  }
}

/**
 * @param {(caller: number) => Promise<unknown>} turn
 * @returns {Promise<number>} turns a second
 */
async function rate(turn) {
  const each = 20;
  const began = performance.now();
  const callers = Array.from({ length: CALLERS }, async (_, caller) => {
    for (let n = 0; n < each; n++) await turn(caller);
  });
  await Promise.all(callers);
  return (CALLERS * each) / ((performance.now() - began) / 1_000);
}

/**
 * Of the least of several turns: what the box does beside them now and then is no part of one.
 * @param {import('./_child.mjs').Child} box
 * @param {() => Promise<unknown>} turn
 */
async function statementsOf(box, turn) {
  const counts = [];
  for (let n = 0; n < 15; n++) {
    const before = await box.ask('statements');
    await turn();
    // The end of a turn is written behind its answer.
    await wait(30);
    counts.push((await box.ask('statements')) - before);
  }
  return Math.min(...counts);
}

/**
 * @param {{ stateless: number[], session: number[] }} seen
 * @param {(values: number[]) => number} pick
 * @param {number} digits
 */
function spread(seen, pick, digits) {
  return { stateless: round(pick(seen.stateless), digits), session: round(pick(seen.session), digits) };
}
