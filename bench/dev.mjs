// @ts-check
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startModelServer } from '../playground/model-server.mjs';
import { askUntil, bootBox, makeWorkspace, readRss } from './_box.mjs';
import { startEchoModel } from './_echo.mjs';
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
    for (const [bench, values] of Object.entries(await measureEdits(workspace.root))) report(bench, 'ms', values, 1);
  } finally {
    workspace.remove();
    await model.close();
  }
}

// --- internal ---

/** @typedef {import('./_box.mjs').Box} Box */
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
  );
}

/** @param {Box} box */
async function idleMemory(box) {
  const started = await box.call('/api/workflows/price-check/start', { item: 'desk lamp' });
  const { runId } = JSON.parse(started.text);
  await askUntil(
    () => box.call(`/api/runs/${runId}`),
    ({ text }) => JSON.parse(text).status === 'completed',
  );
  await wait(IDLE_MS);
  return readRss(box.pid);
}

/**
 * Edits of an agent's instructions and of a module they come from, and beside them how long a chat takes when nothing
 * was edited.
 * @param {string} root
 */
async function measureEdits(root) {
  const agent = join(root, 'deep-agents/support/index.ts');
  const module = join(root, 'lib/orders.ts');
  rewrite(agent, 'import { findOrder }', 'import { findOrder, NOTE }');
  rewrite(agent, "instructions: '", "instructions: NOTE + '");
  writeFileSync(module, `${readFileSync(module, 'utf8')}\nexport const NOTE = '';\n`);
  const model = await startEchoModel();
  const box = await bootBox({ root, modelUrl: model.url });
  try {
    await firstChat(box);
    return {
      'dev.chat': await repeat(EDITS, () => measureChat(box)),
      'dev.edit_agent': await measureEditsOf(box, agent, "NOTE + '"),
      'dev.edit_module': await measureEditsOf(box, module, "NOTE = '"),
    };
  } finally {
    await box.stop();
    await model.close();
  }
}

/** @param {Box} box */
async function measureChat(box) {
  const started = performance.now();
  await box.chat('hello');
  return performance.now() - started;
}

/**
 * From just before the file is written to the answer that shows what was written after `place`.
 * @param {Box} box
 * @param {string} file
 * @param {string} place
 */
function measureEditsOf(box, file, place) {
  const source = readFileSync(file, 'utf8');
  return repeat(EDITS, async () => {
    const mark = randomUUID();
    const started = performance.now();
    writeFileSync(file, source.replace(place, `${place}${mark} `));
    return (
      (await askUntil(
        () => box.chat('hello'),
        ({ text }) => text.includes(mark),
      )) - started
    );
  });
}

/**
 * @param {string} file
 * @param {string} before
 * @param {string} after
 */
function rewrite(file, before, after) {
  const text = readFileSync(file, 'utf8');
  if (!text.includes(before)) throw new Error(`"${file}" has no "${before}" to measure an edit with.`);
  writeFileSync(file, text.replace(before, after));
}

/**
 * @param {number} rounds
 * @param {() => Promise<number>} measure
 */
async function repeat(rounds, measure) {
  const values = [];
  for (let i = 0; i < rounds; i++) {
    // Away from the end of the round before, by a different amount each time.
    await wait(100 + Math.random() * 50);
    values.push(await measure());
  }
  return values;
}
