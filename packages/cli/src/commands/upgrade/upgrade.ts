import { openClient } from '../../client/client.ts';
import type { Client } from '../../client/client.ts';
import { findProject } from '../../client/target.ts';
import { EXIT, usageError } from '../../errors.ts';
import { findWholeId } from '../../operations/short-id.ts';
import { answerOf } from '../../payload/payload.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import { findUnneeded } from './markers.ts';
import { formatUpgrade } from './print.ts';
import type { UpgradeAnswer } from './print.ts';
import { toStopProblems } from './stops.ts';

/** Asks the box which open runs its newest code fits, and has it move them. */
export const upgrade = defineVerb({
  examples: ['svc upgrade --check', 'svc upgrade --apply --name order'],
  args: {
    check: { type: 'boolean', description: 'Only say which runs the newest code fits. The default.' },
    apply: { type: 'boolean', description: 'Move those to it; the others go on with the code they have.' },
    name: { type: 'string', valueHint: 'name', description: 'Runs of this workflow or agent alone.' },
    run: { type: 'string', valueHint: 'id', description: 'This run alone.' },
    ...TARGET_ARGS,
  },
  completes: { name: { names: ['agents', 'workflows'] } },
  payload: answerOf('upgrade.check'),
  async run({ check, apply = false, name, run, ...target }, context) {
    if (check && apply) throw usageError('--check changes nothing, and --apply moves runs.', 'Leave one of them out.');
    const client = openClient(target, context);
    const runId = run === undefined ? undefined : await findWholeId('run', run, () => client);
    const filter = { ...(name === undefined ? {} : { name }), ...(runId === undefined ? {} : { run: runId }) };
    context.progress(apply ? 'Moving runs …' : 'Checking runs …');
    const answer = await readAll(client, filter, apply);
    const root = findProject(context.cwd);
    const problems = await toStopProblems(answer.items, root);
    // Of one run alone nothing follows for the others.
    const unneeded = apply || runId !== undefined ? [] : await findUnneeded(client, root, name);
    const isBroken = !apply && answer.items.some(({ outcome }) => outcome === 'stops');
    return {
      data: answer,
      human: (style) =>
        formatUpgrade(answer, { problems, unneeded, isApplied: apply, isOne: runId !== undefined }, style),
      ...(isBroken ? { hint: STAY } : {}),
      closed: Promise.resolve(isBroken ? EXIT.generic : EXIT.ok),
    };
  },
});

// --- internal ---

const STAY =
  'Those that stop go on with the code they have, which the box keeps: nothing breaks as long as they are not moved.';

/** Page after page, as one answer. */
async function readAll(client: Client, filter: Record<string, string>, isApplied: boolean): Promise<UpgradeAnswer> {
  const items: UpgradeAnswer['items'] = [];
  const counts = new Map<string, UpgradeAnswer['counts'][number]>();
  for (let cursor: string | null = null; ;) {
    const asked: Record<string, string> = { ...filter, ...(cursor === null ? {} : { cursor }) };
    const page: UpgradeAnswer = isApplied
      ? await client.post<UpgradeAnswer>('/api/upgrade', asked)
      : await client.get<UpgradeAnswer>('/api/upgrade', asked);
    items.push(...page.items);
    for (const one of page.counts) addCounts(counts, one);
    // A box that answers the same cursor again would be asked for ever.
    if (page.nextCursor === null || page.nextCursor === cursor)
      return { items, counts: [...counts.values()], nextCursor: null };
    cursor = page.nextCursor;
  }
}

function addCounts(all: Map<string, UpgradeAnswer['counts'][number]>, one: UpgradeAnswer['counts'][number]): void {
  const key = `${one.kind} ${one.name}`;
  const known = all.get(key);
  if (!known) return void all.set(key, { ...one });
  for (const member of ['runs', 'safe', 'moved', 'stops', 'busy', 'unchecked'] as const) known[member] += one[member];
}
