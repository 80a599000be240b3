// @ts-check
/**
 * A recorded turn beside a bare h3 proxy and the provider itself, all in the same run, each in a process of its own:
 * what the box adds at concurrency 1, turns/s at 32, a stream of 1,000 chunks, a turn with a tool, memory, disk; and how
 * long a turn on a session takes to end whose process is killed meanwhile.
 */
import { statSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { startChild, timed } from './_child.mjs';
import { benchStores, connect, listStores } from './_engine-stores.mjs';
import { median, quantile, round } from './_stats.mjs';
import { sendTurn } from './_turn.mjs';

const ROUNDS = 5;
const STORES = ['sqlite synced', 'postgres'];

/**
 * @param {(line: object) => void} print
 * @param {{ only?: string | undefined }} options
 */
export async function run(print, { only = '' }) {
  const stores = listStores(only).filter(({ name }) => STORES.includes(name));
  await benchStores({ bench: 'agents', stores, print }, (root) => (store) => measure(store, root, print));
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
  const children = [provider];
  try {
    const providerUrl = await provider.ask('open');
    const box = startChild('_agent-box.mjs', { provider: providerUrl, place: place('agents') });
    const proxy = startChild('_agent-proxy.mjs', { provider: providerUrl });
    children.push(box, proxy);
    const boxUrl = await box.ask('open');
    const proxyUrl = await proxy.ask('open');
    const idle = await box.ask('rss');
    const targets = {
      provider: `${providerUrl}/chat/completions`,
      proxy: `${proxyUrl}/wire-a/v1/chat/completions`,
      box: `${boxUrl}/wire-a/v1/chat/completions`,
    };
    const name = { store: store.name };
    await rate(targets.box, 8, 2_000);
    print({
      bench: 'agents.memory',
      ...name,
      idle_rss_mib: round(idle),
      after_2000_turns_rss_mib: round(await box.ask('rss')),
    });
    for (const url of Object.values(targets)) for (let n = 0; n < 200; n++) await send(url, 'please short');
    const one = await rounds(targets, async (url) => each(400, () => send(url, 'please short')));
    print({
      bench: 'agents.turn',
      ...name,
      ...spread(one, (a) => median(a), 'p50_ms'),
      ...spread(one, (a) => quantile(a, 0.95), 'p95_ms'),
    });
    const many = await rounds(targets, async (url) => [await rate(url, 32, 1_600)]);
    const rates = { proxy: median(many.proxy), box: median(many.box) };
    print({
      bench: 'agents.rate',
      ...name,
      turns_per_s: round(rates.box),
      proxy: round(rates.proxy),
      ratio_to_proxy: round(rates.box / rates.proxy, 2),
    });
    const first = await rounds(targets, async (url) => each(10, async () => (await send(url, 'please long')).firstMs));
    const whole = await rounds(targets, async (url) => each(10, async () => (await send(url, 'please long')).ms));
    const chunks = (/** @type {number[]} */ values) => round(1_000 / (median(values) / 1_000));
    print({
      bench: 'agents.stream',
      ...name,
      ...spread(first, (a) => median(a), 'first_text_ms'),
      chunks_per_s: { box: chunks(whole.box), proxy: chunks(whole.proxy), provider: chunks(whole.provider) },
    });
    const tool = await rounds({ box: targets.box, provider: targets.provider }, async (url) =>
      each(50, () => send(url, 'please tool')),
    );
    print({
      bench: 'agents.tool',
      ...name,
      p50_ms: { box: round(median(tool.box), 2), provider_once: round(median(tool.provider), 2) },
    });
    print({ bench: 'agents.disk', ...name, ...(await disk(root, place('agents'), targets.box)) });
    // Where replicas share the store one is there already; else the next process opens it.
    const start = () => {
      const next = startChild('_agent-box.mjs', { provider: providerUrl, place: place('agents') });
      children.push(next);
      return next;
    };
    const replica = place('agents').type === 'postgres' ? await start().ask('open') : undefined;
    const cut = await beginTurn(targets.box);
    await box.kill();
    const died = performance.now();
    await untilEnded(replica ?? (await start().ask('open')), cut);
    const kill_to_end_s = round((performance.now() - died) / 1_000, 2);
    print({ bench: 'agents.kill', ...name, kill_to_end_s, taken_up_by: replica ? 'a replica' : 'the next process' });
  } finally {
    await Promise.all(children.map((child) => child.kill()));
    await close();
  }
}

/**
 * @template {string} K
 * @param {Record<K, string>} targets
 * @param {(url: string) => Promise<number[]>} measureOne
 * @returns {Promise<Record<K, number[]>>}
 */
async function rounds(targets, measureOne) {
  const seen = /** @type {Record<K, number[]>} */ ({});
  for (let turn = 0; turn < ROUNDS; turn++)
    for (const name of /** @type {K[]} */ (Object.keys(targets)))
      (seen[name] ??= []).push(...(await measureOne(targets[name])));
  return seen;
}

/**
 * What each takes, and what the box and the proxy add to the provider.
 * @param {Record<'provider' | 'proxy' | 'box', number[]>} seen
 * @param {(values: number[]) => number} pick
 * @param {string} unit
 */
function spread(seen, pick, unit) {
  const [box, proxy, provider] = [pick(seen.box), pick(seen.proxy), pick(seen.provider)];
  return {
    [unit]: { box: round(box, 2), proxy: round(proxy, 2), provider: round(provider, 2) },
    [`added_${unit}`]: { box: round(box - provider, 2), proxy: round(proxy - provider, 2) },
  };
}

/**
 * @param {number} count
 * @param {() => Promise<number | { ms: number }>} work
 */
async function each(count, work) {
  /** @type {number[]} */
  const values = [];
  for (let n = 0; n < count; n++) {
    const value = await work();
    values.push(typeof value === 'number' ? value : value.ms);
  }
  return values;
}

/**
 * @param {string} url
 * @param {number} clients
 * @param {number} turns
 */
async function rate(url, clients, turns) {
  let left = turns;
  const client = async () => {
    while (left-- > 0) await send(url, 'please short');
  };
  return turns / (await timed(() => Promise.all(Array.from({ length: clients }, client))));
}

/**
 * @param {string} root
 * @param {import('./_engine-stores.mjs').Place} place
 * @param {string} url
 */
async function disk(root, place, url) {
  const turns = 4_000;
  if (place.type === 'postgres') {
    const before = await sizeOf(place);
    await rate(url, 8, turns);
    return { bytes_per_turn: round(((await sizeOf(place)) - before) / turns) };
  }
  const files = () => readdirSync(root).filter((name) => name.startsWith('agents'));
  const size = () => files().reduce((sum, name) => sum + statSync(join(root, name)).size, 0);
  const before = { bytes: size(), files: files().length };
  await rate(url, 8, turns);
  return { bytes_per_turn: round((size() - before.bytes) / turns), files_more: files().length - before.files };
}

/**
 * Bytes of all tables, indexes and large values of the database, without what is dead in them.
 * @param {{ url: string }} place
 */
async function sizeOf({ url }) {
  const client = await connect(url);
  try {
    await client.query('vacuum');
    return Number((await client.query('select pg_database_size(current_database()) as size')).rows[0].size);
  } finally {
    await client.end();
  }
}

/**
 * Begins a turn on a session, and answers its run's id with its first text.
 * @param {string} url
 */
async function beginTurn(url) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer dev', 'x-svc-session': 'killed' },
    body: JSON.stringify({ model: 'helper', stream: true, messages: [{ role: 'user', content: 'please slow' }] }),
  });
  const reader = answer.body?.getReader();
  for (let text = ''; !text.includes('Hello');) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) throw new Error(`The turn ended before its process was killed: ${answer.status} ${text}`);
    text += Buffer.from(value ?? []).toString();
  }
  reader?.closed.catch(() => {}); // the process is about to be killed
  const runs = await fetch(new URL('/api/runs?limit=1', url));
  return /** @type {any} */ (await runs.json()).items[0].runId;
}

/**
 * @param {string} boxUrl
 * @param {string} runId
 */
async function untilEnded(boxUrl, runId) {
  for (;;) {
    const { status, endedAt } = /** @type {any} */ (await (await fetch(`${boxUrl}/api/runs/${runId}`)).json());
    if (status === 'completed') return;
    if (endedAt) throw new Error(`The turn ended as ${status}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * @param {string} url
 * @param {string} content
 */
function send(url, content) {
  return sendTurn({ url, headers: { authorization: 'Bearer dev' } }, content);
}
