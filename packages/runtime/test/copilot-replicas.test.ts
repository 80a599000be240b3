import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { createHook } from '../src/engine/primitives/hook.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { openDatabase } from '../src/stores/database.ts';
import { openPg } from '../src/stores/pg.ts';
import { createCluster } from './_cluster.ts';
import { confirm, decide, inTurn, reasonOf, startPlayedModel, talk, use, write } from './_copilot.ts';
import type { PlayedModel, ToolUse } from './_copilot.ts';
import { describeWhen, realServers } from './require.ts';
import { call, getRun, setupBoxes, startWorkflow, until } from './_setup.ts';

type Json = Record<string, unknown>;

const boxes = setupBoxes();
let model: PlayedModel;
beforeAll(async () => {
  model = await startPlayedModel();
});
afterAll(() => model.close());

/** What goes on elsewhere is found soon. */
const LOOKS = { sweepMs: 50, pollMs: 100 };

describeWhen(realServers.database, 'the copilot on two replicas, on Postgres', (server) => {
  const openPair = async () => {
    const made = await createDatabase(server);
    onTestFinished(() => made.drop());
    const { db, ready, close } = openDatabase(openPg(made.url));
    onTestFinished(close);
    await ready;
    const openOne = createCluster(boxes, { database: server, kv: '' });
    const provider = { baseUrl: model.url, apiKey: 'key' };
    const workflows = { rest: { run: async () => createHook() } };
    const options = { db, secretKey: newMasterKey() };
    const [a, b] = [
      await openOne({ kv: null, engine: LOOKS, provider, workflows, options }),
      await openOne({ kv: null, engine: LOOKS, provider, workflows, options }),
    ];
    // What one has switched, the other sees within seconds; no test waits for that.
    for (const box of [a, b]) await call(box, 'PUT /api/settings/copilot', { enabled: true });
    return { a, b };
  };

  test('what is asked on one is approved on the other, and confirms once over both', async () => {
    const { a, b } = await openPair();
    const id = await startWorkflow(a, 'rest');
    model.play = inTurn(write('runs.cancel', { id }), confirm);
    const told = await talk(a, 'asked on one', { text: 'Cancel it.' });
    const args = told.interrupts[0]?.metadata.svc.arguments ?? {};
    const { error } = await decide(b, 'asked on one', told, { decision: 'approve' });
    expect([error, (await getRun(b, id, '20s')).status]).toEqual([undefined, 'cancelled']);
    // The same state in another conversation, on either. What goes on elsewhere, a client is told the end of: the model knows.
    for (const [box, thread] of [
      [a, 'once more'],
      [b, 'and again'],
    ] as const) {
      const answers = answersOf(use('confirm_operation', args));
      await decide(box, thread, await talk(box, thread, { text: 'Again.' }), { decision: 'approve' });
      await until(() => answers.length > 0);
      expect(answers).toMatchObject([{ code: 'confirmation_required', details: { reason: 'used' } }]);
    }
    const { body } = await call<{ items: unknown[] }>(a, `GET /api/activity?operation=runs.cancel&target=${id}`);
    expect(body.items).toHaveLength(1);

    // At once, too: two conversations with one state, one on each.
    const next = await startWorkflow(a, 'rest');
    model.play = inTurn(write('runs.cancel', { id: next }), confirm);
    const first = await talk(a, 'first', { text: 'Cancel it.' });
    const same = first.interrupts[0]?.metadata.svc.arguments ?? {};
    const both = answersOf(use('confirm_operation', same));
    const other = await talk(b, 'second', { text: 'Cancel it, too.' });
    await Promise.all([
      decide(a, 'first', first, { decision: 'approve' }),
      decide(b, 'second', other, { decision: 'approve' }),
    ]);
    await until(() => both.length === 2);
    expect(both.map((answer) => reasonOf(answer) ?? 'ran').toSorted()).toEqual(['ran', 'used']);
    expect(both.map(({ runId }) => runId).filter(Boolean)).toEqual([next]);
    expect((await getRun(a, next, '20s')).status).toBe('cancelled');
  });
});

// --- internal ---

/** The model calls that from now on; what its conversations are told by the last call. */
function answersOf(calls: ToolUse[]): Json[] {
  const answers: Json[] = [];
  model.play = (_asked, results) => {
    const last = results.at(-1);
    if (last === undefined) return calls;
    if (last.requestState === undefined || reasonOf(last) !== undefined) answers.push(last);
    return reasonOf(last) === undefined && last.requestState !== undefined ? confirm(last) : 'Over.';
  };
  return answers;
}
