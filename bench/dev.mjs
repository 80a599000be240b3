// @ts-check
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startModelServer } from '../playground/model-server.mjs';
import { askUntil, bootBox, makeWorkspace, readRss } from './_box.mjs';
import { median, quantile, round } from './_stats.mjs';

const BOOTS = 7;
/** Memory is read in the first of them, since it takes a while. */
const MEMORY_BOOTS = 3;
const EDITS = 20;
const IDLE_MS = 5_000;
/** What the design asks for: milliseconds, and MB. */
const TARGETS = { 'dev.warm_first_chat': 1_500, 'dev.edit_agent': 30, 'dev.edit_module': 30, 'dev.rss_warm': 450 };

/**
 * `svc dev` on a copy of the playground, with its scripted model: from the command to the first answer of a chat
 * without (cold) and with (warm) a `.svc` folder; from an edit to a changed answer; and what it keeps in memory.
 * @param {(line: object) => void} print
 */
export async function run(print) {
  const model = await startModelServer();
  const workspace = makeWorkspace();
  const options = { root: workspace.root, modelUrl: model.url };
  const report = reporter(print);
  try {
    for (const kind of ['cold', 'warm']) {
      const boots = await measureBoots(options, kind === 'cold');
      report(`dev.${kind}_first_chat`, 'ms', boots.ms);
      report(`dev.rss_${kind}`, 'mb', boots.mb);
    }
    for (const [bench, values] of Object.entries(await measureEdits(options))) report(bench, 'ms', values, 1);
  } finally {
    workspace.remove();
    await model.close();
  }
}

// --- internal ---

/** @typedef {import('./_box.mjs').Box} Box */
/** @typedef {import('./_box.mjs').Answer} Answer */
/** @typedef {{ root: string, modelUrl: string }} Options */

/** @param {(line: object) => void} print */
function reporter(print) {
  /**
   * @param {string} bench
   * @param {'ms' | 'mb'} unit
   * @param {number[]} values
   */
  return (bench, unit, values, digits = 0) => {
    const target = /** @type {Record<string, number>} */ (TARGETS)[bench];
    const middle = round(median(values), digits);
    const p95 = values.length < EDITS ? {} : { p95: round(quantile(values, 0.95), digits) };
    const verdict = target === undefined ? {} : { target, ok: middle <= target };
    print({ bench, [unit]: middle, ...p95, runs: values.map((value) => round(value, digits)), ...verdict });
  };
}

/**
 * @param {Options} options
 * @param {boolean} cold
 */
async function measureBoots(options, cold) {
  /** @type {{ ms: number[], mb: number[] }} */
  const boots = { ms: [], mb: [] };
  for (let i = 0; i < BOOTS; i++) {
    if (cold) rmSync(join(options.root, '.svc'), { recursive: true, force: true });
    const box = await bootBox(options);
    try {
      boots.ms.push((await firstChat(box)) - box.startedAt);
      if (i < MEMORY_BOOTS) boots.mb.push(await idleMemory(box));
    } finally {
      await box.stop();
    }
  }
  return boots;
}

/** @param {Box} box */
function firstChat(box) {
  return askUntil(
    () => box.chat('say:hello'),
    ({ status }) => status === 200,
    { pauseMs: 5 },
  );
}

/** @param {Box} box */
async function idleMemory(box) {
  const started = await box.call('/api/workflows/price-check/start', { item: 'desk lamp' });
  const { runId } = JSON.parse(started.text);
  await askUntil(
    () => box.call(`/api/runs/${runId}`),
    ({ text }) => JSON.parse(text).status === 'completed',
    { pauseMs: 20 },
  );
  await wait(IDLE_MS);
  return readRss(box.pid);
}

/**
 * Edits that a tool's result shows, and beside them how long a chat with that tool takes when nothing was edited.
 * @param {Options} options
 */
async function measureEdits({ root, ...options }) {
  const box = await bootBox({ root, ...options });
  try {
    await firstChat(box);
    const agent = {
      file: join(root, 'deep-agents/support/index.ts'),
      replace: 'There is no order',
      ask: () => box.chat('tool:lookup_order {"orderId": "none"}'),
    };
    const module = {
      file: join(root, 'lib/orders.ts'),
      replace: 'Desk lamp',
      ask: () => box.chat('tool:lookup_order {"orderId": "A-101"}'),
    };
    return {
      'dev.chat': await repeat(EDITS, () => measureChat(agent.ask)),
      'dev.edit_agent': await measureEditsOf(agent),
      'dev.edit_module': await measureEditsOf(module),
    };
  } finally {
    await box.stop();
  }
}

/** @param {() => Promise<Answer>} ask */
async function measureChat(ask) {
  const started = performance.now();
  return (await askUntil(ask, ({ status }) => status === 200)) - started;
}

/**
 * From just before the file is written to the answer that shows it, asking without a pause.
 * @param {{ file: string, replace: string, ask: () => Promise<Answer> }} edit
 */
function measureEditsOf({ file, replace, ask }) {
  const source = readFileSync(file, 'utf8');
  return repeat(EDITS, async (n) => {
    const mark = `Edit ${n}.`;
    const started = performance.now();
    writeFileSync(file, source.replace(replace, mark));
    return (await askUntil(ask, ({ text }) => text.includes(mark))) - started;
  });
}

/**
 * @param {number} rounds
 * @param {(round: number) => Promise<number>} measure
 */
async function repeat(rounds, measure) {
  const values = [];
  for (let i = 0; i < rounds; i++) {
    // Away from the end of the round before, by a different amount each time.
    await wait(100 + Math.random() * 50);
    values.push(await measure(i));
  }
  return values;
}
