// @ts-check
import { decode } from '../packages/runtime/dist/host.mjs';
import { until } from './_until.mjs';

/**
 * @typedef {import('./_store.mjs').Journal} Journal
 * @typedef {Awaited<ReturnType<Journal['listRuns']>>[number]} RunRow
 *
 * @typedef {object} Claims  what must be true in the end
 * @property {Journal} journal
 * @property {import('./_receiver.mjs').Receiver} receiver
 * @property {ReadonlySet<string>} acknowledged ids of runs and of queued starts that were answered for
 * @property {'completed' | 'parked'} end       how every run is to be found
 */

/**
 * Waits until every run has come to its end, then checks every promise. Answers those that were broken.
 * @param {Claims} claims
 * @returns {Promise<string[]>}
 */
export async function audit(claims) {
  const { journal, acknowledged, receiver } = claims;
  const isOver = (/** @type {RunRow} */ run) => run.endedAt !== null || (claims.end === 'parked' && isParked(run));
  const problems = [];
  const settled = await until(
    async () => (await listRuns(journal)).every(isOver) && (await journal.queue.list({}, { limit: 1 })).length === 0,
    SETTLE_MS,
  );
  const runs = await listRuns(journal);
  if (!settled) {
    const open = runs.filter((run) => !isOver(run));
    problems.push(`${open.length} runs did not end in time: ${open.slice(0, 3).map(describe).join('; ')}`);
  }
  const known = new Set(runs.flatMap(({ runId, triggerId }) => [runId, triggerId]));
  for (const id of acknowledged) if (!known.has(id)) problems.push(`${id}: an acknowledged start is gone.`);
  for (const { runId, triggerId } of runs)
    if (!acknowledged.has(runId) && !acknowledged.has(triggerId ?? ''))
      problems.push(`${runId}: no one was notified of it.`);
  /** @type {Set<string>} */
  const recorded = new Set();
  for (const run of runs) problems.push(...(await auditRun(claims, run, recorded)));
  for (const key of receiver.effects.keys())
    if (!recorded.has(key)) problems.push(`${key}: an effect is not recorded.`);
  return problems;
}

/**
 * @param {Journal} journal
 * @returns {Promise<RunRow[]>}
 */
export async function listRuns(journal) {
  /** @type {RunRow[]} */
  const runs = [];
  for (;;) {
    const before = runs.at(-1)?.runId;
    const page = await journal.listRuns({}, { limit: PAGE, ...(before ? { before } : {}) });
    runs.push(...page);
    if (page.length < PAGE) return runs;
  }
}

// --- internal ---

const SETTLE_MS = 120_000;
const PAGE = 1_000;

/** @param {RunRow} run */
function isParked(run) {
  return run.status === 'waiting' && run.owner === null && run.waitingFor !== null;
}

/** @param {RunRow} run */
function describe({ runId, status, owner, epoch, waitingFor }) {
  return JSON.stringify({ runId, status, owner, epoch, waitingFor });
}

/**
 * @param {Claims} claims
 * @param {RunRow} run
 * @param {Set<string>} recorded gets the key of every step that is recorded as done
 */
async function auditRun({ journal, receiver, end }, run, recorded) {
  const { runId } = run;
  const records = await journal.getRecords(runId);
  const answers = records.filter(({ event }) => event === 'done' || event === 'failed');
  const problems = [
    run.status === 'completed' || (end === 'parked' && isParked(run)) ? '' : `ended as ${run.status}: ${run.error}`,
    records.every(({ seq }, index) => seq === index) && records.length === run.seq ? '' : 'the journal is not dense.',
    new Set(answers.map(({ call }) => call)).size === answers.length ? '' : 'a call is answered twice.',
  ];
  const steps = answers.filter(({ kind }) => kind === 'step');
  if (run.name === 'work' && run.status === 'completed' && decode(run.output ?? '') !== steps.length)
    problems.push(`answered ${run.output} after ${steps.length} recorded steps.`);
  for (const { call, stepId, output } of steps) {
    const key = `${runId}:${call}:${stepId.slice(stepId.indexOf('#') + 1)}`;
    recorded.add(key);
    const effect = receiver.effects.get(key);
    if (!effect) problems.push(`step ${call} is recorded and had no effect.`);
    else if (decode(output ?? '') !== effect.n)
      problems.push(`step ${call} recorded ${output}, the effect was ${effect.n}.`);
  }
  return problems.filter(Boolean).map((problem) => `${runId}: ${problem}`);
}
