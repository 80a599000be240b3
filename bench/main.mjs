// @ts-check
/**
 * Measures and prints one JSON line per figure; nothing here passes or fails a build.
 *   node bench/main.mjs [compiler] [engine] [agents] [sessions] [guardrails] [logs] [operate] [housekeeping] [recovery] [scale] [upgrade] [idle] [rag] [plane] [dev] [boot] [size] [dashboard]    default: all, one after the other
 *   node bench/main.mjs engine --only sqlite                 the stores of engine, housekeeping or plane with that in their name, the figures of dashboard, or the checks of guardrails
 * A busy machine shows in `load` of the first and the last line: compare figures of quiet runs.
 */
import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';

const SUITES = [
  'compiler',
  'engine',
  'agents',
  'sessions',
  'guardrails',
  'logs',
  'operate',
  'housekeeping',
  'recovery',
  'scale',
  'upgrade',
  'starts',
  'idle',
  'rag',
  'plane',
  'dev',
  'boot',
  'size',
  'dashboard',
];

const { values: options, positionals: names } = parseArgs({
  args: process.argv.slice(2).filter((name) => name !== '--'),
  options: { only: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  allowPositionals: true,
});
const unknown = names.filter((name) => !SUITES.includes(name));
if (options.help) {
  console.log(`node bench/main.mjs [${SUITES.join('] [')}] [--only <text>]`);
  console.log('One JSON line per figure. --only: the stores, figures or checks with that text in their name.');
} else if (unknown.length > 0) {
  console.error(`There is no benchmark "${unknown[0]}". There are: ${SUITES.join(', ')}.`);
  process.exitCode = 1;
} else {
  print({ bench: 'machine', node: process.version, cpus: availableParallelism(), cpu: cpus()[0]?.model, load: load() });
  for (const name of names.length > 0 ? names : SUITES) {
    const { run } = await import(`./${name}.mjs`);
    await run(print, options);
  }
  print({ bench: 'machine', load: load() });
}

// --- internal ---

/** @param {object} line */
function print(line) {
  console.log(JSON.stringify(line));
}

function load() {
  return loadavg().map((value) => Number(value.toFixed(2)));
}
