// @ts-check
/**
 * What rules cost, in a box of its own process beside a provider of another, on SQLite synced:
 *   stream   a turn of 1,000 chunks with 0, 10 and 100 rules of `agent-output` that find nothing: until its first text, until
 *            its end, and the processor time a chunk takes; each beside none in the same round. `kind`: which checks they are
 *   hostile  900,000 characters, a megabyte as JSON, that keep a check busy, judged by a dry run, and the slowest answer of `/live` meanwhile;
 *            `text` is the same for a text in which there is nothing to look at
 * Medians of alternated rounds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { toHostileText, toNumbers } from '../packages/runtime/test/fixtures/hostile-text.mjs';
import { startChild } from './_child.mjs';
import { listStores } from './_engine-stores.mjs';
import { median, round } from './_stats.mjs';
import { sendTurn } from './_turn.mjs';

/**
 * @param {(line: object) => void} print
 * @param {{ only?: string | undefined }} options  `only`: the checks with that in their name
 */
export async function run(print, { only = '' }) {
  const root = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'svc-bench-guardrails-'));
  const [store] = listStores('sqlite synced');
  const { place, close } = await /** @type {import('./_engine-stores.mjs').Store} */ (store).open(root);
  const provider = startChild('_agent-provider.mjs', {});
  const children = [provider];
  try {
    const box = startChild('_agent-box.mjs', { provider: await provider.ask('open'), place: place('guardrails') });
    children.push(box);
    const url = await box.ask('open');
    const pick = (/** @type {[string, any]} */ [kind]) => kind.includes(only);
    for (const [kind, checks] of Object.entries(KINDS).filter(pick))
      await benchStream(print, { box, url, kind, checks });
    for (const [kind, check] of Object.entries(HOSTILE_CHECKS).filter(pick))
      await benchHostile(print, { url, kind, check, hostile: HOSTILE_TEXTS[kind] ?? HOSTILE });
  } finally {
    await Promise.all(children.map((child) => child.kill()));
    await close();
    rmSync(root, { recursive: true, force: true });
  }
}

// --- internal ---

const ROUNDS = 5;
const TURNS = 10;
const CHUNKS = 1_000;
const SIZES = [0, 10, 100];

const REGEX = (/** @type {number} */ n) => ({ kind: 'regex', pattern: `\\bACME-${n}\\d{6}\\b` });
const WORDS = (/** @type {number} */ n) => ({ kind: 'words', words: [`casino${n}`, `betting slip ${n}`] });
const PII = () => ({ kind: 'pii', kinds: ['email', 'phone', 'iban', 'card', 'ip', 'national-id', 'secret'] });
const MIX = [REGEX, WORDS, PII];
/** @type {Record<string, (n: number) => object>} */
const KINDS = { regex: REGEX, words: WORDS, pii: PII, mixed: (n) => /** @type {any} */ (MIX[n % 3])(n) };

/**
 * @param {(line: object) => void} print
 * @param {{ box: import('./_child.mjs').Child, url: string, kind: string, checks: (n: number) => object }} options
 */
async function benchStream(print, { box, url, kind, checks }) {
  const seen = SIZES.map(() => ({ first: [], whole: [], cpu: [] }));
  const target = { url: `${url}/wire-a/v1/chat/completions`, headers: { authorization: 'Bearer dev' } };
  for (let n = 0; n <= ROUNDS; n++)
    for (const [at, size] of SIZES.entries()) {
      const ids = await createRules(url, size, checks);
      // The first turn makes the rules ready.
      await sendTurn(target, 'please long');
      const before = await box.ask('cpu');
      const figures = /** @type {any} */ (seen[at]);
      for (let turn = 0; turn < TURNS; turn++) {
        const { ms, firstMs } = await sendTurn(target, 'please long');
        // The first round warms up.
        if (n > 0) figures.first.push(firstMs);
        if (n > 0) figures.whole.push(ms);
      }
      if (n > 0) figures.cpu.push(((await box.ask('cpu')) - before) / TURNS / CHUNKS);
      for (const id of ids) await send(url, 'DELETE', `/api/guardrails/${id}`);
    }
  const [none] = seen;
  for (const [at, size] of SIZES.entries()) {
    const { first, whole, cpu } = /** @type {any} */ (seen[at]);
    print({
      bench: 'guardrails.stream',
      kind,
      rules: size,
      first_text_ms: round(median(first), 2),
      turn_ms: round(median(whole), 2),
      cpu_us_per_chunk: round(median(cpu), 2),
      ...(size === 0
        ? {}
        : {
            added_first_text_ms: round(median(first) - median(/** @type {any} */ (none).first), 2),
            added_wall_us_per_chunk: round(
              ((median(whole) - median(/** @type {any} */ (none).whole)) * 1_000) / CHUNKS,
              2,
            ),
            added_cpu_us_per_chunk: round(median(cpu) - median(/** @type {any} */ (none).cpu), 2),
          }),
    });
  }
}

/**
 * @param {string} url
 * @param {number} count
 * @param {(n: number) => object} checks
 */
async function createRules(url, count, checks) {
  const ids = [];
  for (let n = 0; n < count; n++) {
    const rule = { name: `rule ${n}`, action: 'mask', sides: ['agent-output'], check: checks(n) };
    ids.push(JSON.parse(await send(url, 'POST', '/api/guardrails', rule)).id);
  }
  return ids;
}

/** As JSON it is the megabyte that a request may have. */
const HOSTILE = toHostileText(900_000);
const PLAIN = 'The quick brown fox jumps over the lazy dog. '.repeat(23_000).slice(0, HOSTILE.length);

/** Of those whose own is harder on them. @type {Record<string, string>} */
const HOSTILE_TEXTS = {
  'pii of 12 digits': toNumbers(900_000, 12, ','),
  'pii of 16 digits': toNumbers(900_000, 16, ' '),
};

/** @type {Record<string, object>} */
const HOSTILE_CHECKS = {
  regex: { kind: 'regex', pattern: '(a+)+c|(?:[a-z0-9@]+[- ]?)*!$|x[\\s\\S]*y', ignoreCase: true },
  words: { kind: 'words', words: ['aaaaaaaaaa', 'aab', '4 4', 'bearer bear', 'zz'], wholeWord: false },
  'whole words': { kind: 'words', words: ['aaaaaaaaaa', 'a b', 'send passwords'] },
  ...Object.fromEntries(
    ['email', 'phone', 'iban', 'card', 'ip', 'national-id', 'secret'].map((kind) => [
      kind,
      { kind: 'pii', kinds: [kind] },
    ]),
  ),
  pii: PII(),
  'pii of 12 digits': PII(),
  'pii of 16 digits': PII(),
  injection: { kind: 'injection' },
  length: { kind: 'length', min: 2_000_000 },
  schema: { kind: 'schema', schema: { type: 'object' } },
};

/**
 * @param {(line: object) => void} print
 * @param {{ url: string, kind: string, check: object, hostile: string }} options
 */
async function benchHostile(print, { url, kind, check, hostile: given }) {
  const hostile = /** @type {number[]} */ ([]);
  const plain = /** @type {number[]} */ ([]);
  const none = /** @type {number[]} */ ([]);
  const live = /** @type {number[]} */ ([]);
  const rule = { check, action: 'audit' };
  const judge = async (/** @type {string} */ text, /** @type {object} */ more) => {
    const began = performance.now();
    await send(url, 'POST', '/api/guardrails/test', { text, ...more });
    return performance.now() - began;
  };
  for (let n = 0; n <= ROUNDS; n++) {
    const stop = watch(url);
    const took = await judge(given, { rule });
    const slowest = await stop();
    const ofPlain = await judge(PLAIN, { rule });
    const ofNone = await judge(given, {});
    if (n === 0) continue;
    hostile.push(took);
    plain.push(ofPlain);
    none.push(ofNone);
    live.push(slowest);
  }
  print({
    bench: 'guardrails.hostile',
    kind,
    characters: given.length,
    ms: round(median(hostile)),
    text_ms: round(median(plain)),
    no_rule_ms: round(median(none)),
    slowest_live_ms: round(median(live)),
  });
}

/**
 * Asks `/live` again and again; the answer stops that and says how long the slowest took.
 * @param {string} url
 */
function watch(url) {
  const watched = new AbortController();
  let slowest = 0;
  const watching = (async () => {
    while (!watched.signal.aborted) {
      const began = performance.now();
      await send(url, 'GET', '/live');
      slowest = Math.max(slowest, performance.now() - began);
      await wait(2);
    }
  })();
  return async () => {
    watched.abort();
    await watching;
    return slowest;
  };
}

/**
 * @param {string} url
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<string>}
 */
function send(url, method, path, body) {
  const text = body && JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers = text === undefined ? {} : { 'content-type': 'application/json' };
    const outgoing = request(`${url}${path}`, { method, headers }, (incoming) => {
      let answer = '';
      incoming.setEncoding('utf8').on('data', (part) => (answer += part));
      incoming.on('end', () =>
        (incoming.statusCode ?? 500) < 300 ? resolve(answer) : reject(new Error(`${method} ${path}: ${answer}`)),
      );
      incoming.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}
