import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ROLES } from '../src/auth/permissions.ts';
import { openServerDatabase, openServerJournal } from '../src/boot/server-stores.ts';
import { FatalError } from '../src/index.ts';
import { requestApproval } from '../src/engine/primitives/approval.ts';
import { createDatabase } from '../src/engine/stores/_clients.ts';
import { createLog } from '../src/log.ts';
import { inTurn, read, startPlayedModel, talk } from './_copilot.ts';
import type { PlayedModel } from './_copilot.ts';
import { startPlane } from './_plane.ts';
import type { Plane } from './_plane.ts';
import { describeWhen, realServers } from './require.ts';
import { call, setupBoxes, toStep, until } from './_setup.ts';

const log = createLog({ level: 'silent', write: () => {} });

describeWhen(realServers.database, 'runs, read from the database', (server) => {
  const boxes = setupBoxes();
  let plane: Plane;
  let model: PlayedModel;
  beforeAll(async () => {
    plane = await startPlane();
    model = await startPlayedModel();
  });
  afterAll(async () => {
    await plane.close();
    await model.close();
  });

  type Headers = Record<string, string>;
  const as = async (role: string, sub = role): Promise<Headers> => ({
    authorization: `Bearer ${await plane.mint(role, { claims: { sub, name: sub } })}`,
  });

  const open = async () => {
    const made = await createDatabase(server);
    onTestFinished(() => made.drop());
    const database = openServerDatabase(made.url);
    onTestFinished(() => database.close());
    await database.ready;
    const journal = await openServerJournal(made.url);
    const add = toStep('add', async ({ n }: { n: number }) => {
      if (n < 0) throw new FatalError('a secret reason');
      return { sum: n + 1, note: 'a secret sum' };
    });
    const box = await boxes.open({
      workflows: {
        add: { run: async (input: { n: number }) => add(input) },
        ask: { run: async () => requestApproval({ title: 'Go?' }) },
      },
      journal,
      provider: { baseUrl: model.url, apiKey: 'key' },
      options: {
        host: 'image',
        strategy: plane.strategy({ log }),
        db: database.db,
        readable: { kind: 'server', url: made.url, client: database.client },
      },
    });
    onTestFinished(async () => {
      const [row] = await database.client.query<{ role: string }>(
        `select 'svc_query_' || left(replace(id::text, '-', ''), 16) as role from svc.installation`,
      );
      await database.client.exec(`drop owned by ${row?.role}; drop role ${row?.role}`);
    });
    await call(box, 'PUT /api/settings/copilot', { enabled: true }, await as('owner'));
    const ask = async (role: string, sql: string) => {
      const { status, body } = await call<{ rows: unknown[][]; code: string; message: string }>(
        box,
        'POST /api/database/query',
        { sql },
        await as(role),
      );
      return status === 200 ? body.rows : [status, body.code];
    };
    return { box, ask, database, made };
  };

  test('a turn of the copilot and its steps are read by every seat that may query, and its routes stay shut to others', async () => {
    const { box, ask } = await open();
    model.play = inTurn(read('runs.list', {}), () => 'There are none.');
    await talk(box, 'mine', { text: 'What ran?', headers: await as('member', 'ann') });
    const { body } = await call<{ items: { runId: string; name: string }[] }>(
      box,
      'GET /api/runs',
      undefined,
      await as('member', 'ann'),
    );
    const runId = body.items.find(({ name }) => name === 'studio-copilot')?.runId ?? '';
    await until(async () => (await getRunAs(runId, await as('member', 'ann'))) === 'completed');
    const runs = `select name, status, asked_by from svc_view.runs where run_id = '${runId}'`;
    const steps = `select kind, name, status from svc_view.steps where run_id = '${runId}' order by call`;
    const shown = [
      [['studio-copilot', 'completed', 'person ann']],
      expect.arrayContaining([['tool', 'call_read_operation', 'completed']]),
    ];
    const forbidden = [403, 'forbidden'];
    const found: Record<string, unknown> = {};
    const routes: Record<string, number> = {};
    for (const role of ROLES) {
      found[role] = [await ask(role, runs), await ask(role, steps)];
      routes[role] = (await call(box, `GET /api/runs/${runId}`, undefined, await as(role))).status;
    }
    expect(found).toEqual({
      owner: shown,
      admin: shown,
      member: shown,
      approver: [forbidden, forbidden],
      viewer: [forbidden, forbidden],
    });
    expect(routes).toEqual({ owner: 200, admin: 200, member: 404, approver: 404, viewer: 404 });

    async function getRunAs(id: string, headers: Headers): Promise<string> {
      return (await call<{ status: string }>(box, `GET /api/runs/${id}`, undefined, headers)).body.status;
    }
  });

  test('they say what the routes say of runs and steps, and hold no value', async () => {
    const { box, ask, database } = await open();
    const owner = await as('owner');
    const start = async (name: string, input: unknown) =>
      (await call<{ runId: string }>(box, `POST /api/workflows/${name}/start`, input, owner)).body.runId;
    const ids = [await start('add', { n: 1 }), await start('add', { n: -1 }), await start('ask', {})];
    await until(async () => {
      const rows = (await ask('member', 'select status from svc_view.runs order by run_id')) as string[][];
      return rows.flat().join() === 'completed,failed,waiting';
    });
    for (const id of ids) {
      const one = await call<Record<string, unknown>>(box, `GET /api/runs/${id}`, undefined, owner);
      const [row] = (await ask(
        'member',
        `select name, kind, trigger, status, trace_id, total_tokens::int, created_at = '${one.body['createdAt']}' from svc_view.runs where run_id = '${id}'`,
      )) as unknown[][];
      const { name, kind, trigger, status, traceId, totalTokens } = one.body;
      expect(row).toEqual([name, kind, trigger, status, traceId, totalTokens, true]);
      const listed = await call<{ items: Record<string, unknown>[] }>(
        box,
        `GET /api/runs/${id}/steps`,
        undefined,
        owner,
      );
      const steps = await ask(
        'member',
        `select call, kind, name, status from svc_view.steps where run_id = '${id}' order by call`,
      );
      expect(steps).toEqual(
        listed.body.items.map((step) => [step['call'], step['kind'], step['name'], step['status']]),
      );
      expect(listed.body.items.length).toBeGreaterThan(0);
    }
    const all = JSON.stringify([
      await ask('member', 'select * from svc_view.runs'),
      await ask('member', 'select * from svc_view.steps'),
    ]);
    expect(all).toContain(ids[0]);
    expect(all).not.toContain('secret');
    const page = readFileSync(new URL('../../../docs/guide/database.md', import.meta.url), 'utf8');
    const [, counted = ''] = /```sql runs\n(.*?)```/s.exec(page) ?? [];
    expect(await ask('member', counted)).toHaveLength(3);
    // The tables below them stay shut.
    expect(await ask('member', 'select * from journal.runs')).toEqual([422, 'query_failed']);
    const tables = await call<{ items: { schema: string; name: string }[] }>(
      box,
      'GET /api/database/tables',
      undefined,
      owner,
    );
    expect(tables.body.items.map(({ schema, name }) => `${schema}.${name}`)).toEqual([
      'svc_view.runs',
      'svc_view.steps',
    ]);
    const plan = (
      await database.client.query<Record<string, string>>(
        `explain select * from svc_view.steps where run_id = '${ids[0]}'`,
      )
    )
      .map((line) => Object.values(line)[0])
      .join('\n');
    expect(plan).toMatch(/Index Scan (Backward )?using run_events_pkey|Bitmap Index Scan on run_events_pkey/);
  });

  test('views of another release are rebuilt, and the rights to read them too', async () => {
    const { ask, database, made } = await open();
    expect(await ask('member', 'select run_id from svc_view.runs')).toEqual([]);
    await database.client.exec(
      `drop view svc_view.steps, svc_view.runs; create view svc_view.runs as select 1 as other`,
    );
    const journals = await Promise.all([openServerJournal(made.url), openServerJournal(made.url)]);
    await Promise.all(journals.map((journal) => journal.close()));
    expect(await ask('member', 'select run_id from svc_view.runs union all select run_id from svc_view.steps')).toEqual(
      [],
    );
  });
});
