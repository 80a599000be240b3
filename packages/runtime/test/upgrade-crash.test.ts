import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { until } from './_setup.ts';
import type { Worker } from './_turn-worker.ts';
import {
  ask,
  at,
  atStatement,
  begin,
  describeDeaths,
  dropUnneeded,
  filesOf,
  finish,
  park,
  untilForgotten,
  untilDead,
} from './_version-deaths.ts';
import type { Json } from './_version-deaths.ts';
import { createBuiltWorkspace } from './_versions.ts';

// Processes of deployed boxes that are killed while they move runs to other code, and while they drop code that nothing needs.

const ORDER = (version: string) => ({
  'workflows/order.workflow.ts': `import { createHook } from '@svc/runtime';
import { label } from '../lib/label.ts';
async function charge(order: string) { 'use step'; return label(order); }
async function ship(order: string) { 'use step'; return label(order); }
export async function order(input: { order: string }) {
  'use workflow';
  const first = await charge(input.order);
  await createHook({ token: 'go-' + input.order });
  return [first, await ship(input.order)];
}
`,
  'lib/label.ts': `export const label = (text: string) => 'v${version} ' + text;\n`,
});

const MOVING = [
  at('moves.list', 'after'),
  at('listRecords', 'after'),
  at('moves.move', 'before'),
  at('moves.move', 'after'),
  at('moves.move', 'before', 3),
  at('moves.move', 'after', 3),
];
const WAKING = [at('moves.move', 'before'), at('moves.move', 'after')];
const VERSION = 'delete from \\S*code_versions';
const PARTS = 'delete from \\S*code_parts where not exists';
const FILES = 'delete from \\S*code_files';
const DROPPING = [
  at('code.drop', 'before'),
  atStatement('the rows of versions go', VERSION, 'before'),
  atStatement('the rows of versions go', VERSION, 'after'),
  atStatement('what they were made of is forgotten', PARTS, 'before'),
  atStatement('what they were made of is forgotten', PARTS, 'after'),
  atStatement('their files go', FILES, 'before'),
  atStatement('their files go', FILES, 'after'),
  at('code.drop', 'after'),
];

async function build(...versions: string[]): Promise<string[]> {
  const workspace = createBuiltWorkspace();
  const dirs: string[] = [];
  for (const version of versions) dirs.push((await workspace.build(ORDER(version))).dir);
  return dirs;
}

const codeOf = async (worker: Worker, runId: string) => {
  const { code } = (await ask(worker, `GET /api/runs/${runId}`)) as {
    code: Json & { codeHash: string; newest: string };
  };
  return code;
};
const outcomesOf = (page: Json) => (page.items as { outcome: string }[]).map(({ outcome }) => outcome);

describeDeaths('a box that is killed while it moves runs', (openPlace) => {
  test.each(MOVING)(
    '%s leaves each on one code, by which it ends, and the rest is moved by the next one',
    async (_, death) => {
      const [place, [one = '', two = '']] = [await openPlace(), await build('1', '2')];
      const orders = ['a', 'b', 'c', 'd', 'e'];
      const first = await begin(place, one);
      const runIds = new Map<string, string>();
      for (const order of orders) runIds.set(order, await park(first, order));
      const { codeHash: old } = await codeOf(first, String(runIds.get('a')));
      await first.kill();
      await untilForgotten(place, old);
      const dying = await begin(place, two, death);
      await ask(dying, 'POST /api/upgrade', {}).catch(() => ({}));
      await untilDead(dying);
      const next = await begin(place, two);
      const codes = new Map<string, Json>();
      for (const [order, runId] of runIds) codes.set(order, await codeOf(next, runId));
      const newest = String(codes.get('a')?.newest);
      const done = death.when === 'before' ? 1 : 0;
      const expected = 'journal' in death && death.journal === 'moves.move' ? death.nth - done : 0;
      expect([...codes.values()].filter(({ codeHash }) => codeHash === newest)).toHaveLength(expected);
      for (const { codeHash, movedFrom, isKept } of codes.values())
        expect([old, newest].includes(String(codeHash)) && { movedFrom, isKept }).toEqual(
          codeHash === old ? { movedFrom: null, isKept: true } : { movedFrom: old, isKept: false },
        );
      // One of each ends as it is; what is left is moved, and ends by the newest.
      const [moved, kept] = [
        codes.get('a')?.codeHash === newest ? '2' : '1',
        codes.get('e')?.codeHash === newest ? '2' : '1',
      ];
      expect((await finish(next, String(runIds.get('a')), 'a')).output).toEqual(['v1 a', `v${moved} a`]);
      expect((await finish(next, String(runIds.get('e')), 'e')).output).toEqual(['v1 e', `v${kept} e`]);
      const left = [...codes].filter(([order, code]) => !['a', 'e'].includes(order) && code.codeHash === old);
      expect(outcomesOf(await ask(next, 'POST /api/upgrade', {}))).toEqual(left.map(() => 'moved'));
      for (const order of ['b', 'c', 'd'])
        expect(await finish(next, String(runIds.get(order)), order)).toMatchObject({
          status: 'completed',
          output: ['v1 ' + order, 'v2 ' + order],
        });
      // Nothing needs the earlier code any more: it goes, with the files that are its own.
      expect(await dropUnneeded(next)).toBeGreaterThan(0);
      const journal = await place.open();
      expect(await journal.code.find({ codeHash: old, name: 'order' })).toBeUndefined();
      await journal.close();
    },
  );

  test.each(WAKING)('%s of one that is to be woken: it is as it was, or goes on by its new code', async (_, death) => {
    const [place, [one = '', two = '']] = [await openPlace(), await build('1', '2')];
    const first = await begin(place, one);
    const runId = await park(first, 'a');
    const { codeHash: old } = await codeOf(first, runId);
    await first.kill();
    await untilForgotten(place, old);
    const journal = await place.open();
    const { epoch = 0, seq = 0 } = (await journal.getRun(runId)) ?? {};
    const patch = { status: 'blocked', waitingFor: '{"type":"decision"}', wakeAt: null, release: true } as const;
    await journal.append({ runId, epoch, seq, records: [], patch, durability: 'synced' });
    await journal.close();
    const dying = await begin(place, two, death);
    await ask(dying, 'POST /api/upgrade', {}).catch(() => ({}));
    await untilDead(dying);
    const next = await begin(place, two);
    // Before it the run is as it was, and is moved by the next request.
    const isMoved = death.when === 'after';
    const { codeHash } = await codeOf(next, runId);
    expect(codeHash === old).toBe(!isMoved);
    expect(outcomesOf(await ask(next, 'POST /api/upgrade', {}))).toEqual(isMoved ? [] : ['moved']);
    await until(async () => (await ask(next, `GET /api/runs/${runId}`)).status === 'waiting', 30_000);
    expect(await finish(next, runId, 'a')).toMatchObject({ status: 'completed', output: ['v1 a', 'v2 a'] });
  });
});

describeDeaths('a box that is killed while it drops code', (openPlace) => {
  test('at any statement keeps what a run needs whole, and what nothing needs goes with the next look', async () => {
    const [place, [needed = '', newest = '']] = [await openPlace(), await build('1', '2')];
    const first = await begin(place, needed);
    const runId = await park(first, 'a');
    const { codeHash: own } = await codeOf(first, runId);
    await first.kill();
    for (const [title, death] of DROPPING) {
      const codeHash = `gone ${title}`;
      const before = await place.open();
      const files = await filesOf(before, own);
      // It shares a file with what is needed, and has one of its own.
      const [shared = ''] = files;
      const digest = createHash('sha256').update(title).digest('hex');
      const kept = { codeHash, name: 'order', manifest: 'none', digests: [shared, digest] };
      expect(await before.code.keep(kept, [{ digest, body: title }])).toBe(true);
      await before.close();
      const dying = await begin(place, 'none', death);
      expect(await dropUnneeded(dying)).toBeUndefined();
      await untilDead(dying);
      const after = await place.open();
      expect(await filesOf(after, own)).toEqual(files);
      expect(await after.code.listMissing(files)).toEqual([]);
      // A version is there with all its files, or is not there.
      const isThere = (await after.code.find(kept)) !== undefined;
      expect(isThere && (await after.code.listMissing([digest])).length > 0).toBe(false);
      await after.code.drop({ idleMs: -60_000 });
      expect(await after.code.find(kept)).toBeUndefined();
      expect(await after.code.listMissing([...files, digest])).toEqual([digest]);
      await after.close();
    }
    const last = await begin(place, newest);
    expect(await finish(last, runId, 'a')).toMatchObject({ status: 'completed', output: ['v1 a', 'v1 a'] });
  });
});
