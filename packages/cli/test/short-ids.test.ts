import { describe, expect, it } from 'vitest';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { createHook } from '../../runtime/src/engine/primitives/hook.ts';
import { call, startWorkflow, until } from '../../runtime/test/_setup.ts';
import { runCli } from './_run.ts';
import { openFullBox } from './_seeded.ts';
import { makeProject, readDocument, readError, runAgainst, startBox, UTF8 } from './_setup.ts';

const boxes = setupBoxes();

/** Every list whose things have a verb of their own: the member with the id, and the least that is shown of it. */
const LISTS: [list: string, member: string, shortest: number, verbs: string[]][] = [
  ['runs list', 'runId', 13, ['runs get', 'runs steps', 'why']],
  ['sessions list', 'sessionId', 8, ['sessions get']],
  ['hitl list', 'approvalId', 8, ['hitl get']],
  ['prompts list', 'id', 13, ['prompts get', 'prompts versions']],
  ['activity list', 'id', 13, ['activity get']],
];

describe('the short id that a table shows', () => {
  it('is accepted by the verbs of one thing', async () => {
    const { run, readFirst } = await openRunner();
    for (const [list, member, shortest, verbs] of LISTS) {
      const { items } = readDocument(await run(`${list} --json`)) as { items: Record<string, string>[] };
      const shown = await readFirst(list);
      expect([list, shown.length, new Set(shown).size]).toEqual([list, items.length, items.length]);
      const wholes = items.map((item) => item[member] ?? '');
      const fits = shown.map((short, at) => wholes[at]?.startsWith(short) && short.length >= shortest);
      expect([list, fits]).toEqual([list, items.map(() => true)]);
      expect(shown[0]?.length).toBeLessThan(wholes[0]?.length ?? 0);
      for (const verb of verbs) {
        const [own, same] = [await run(`${verb} ${shown[0]} --json`), await run(`${verb} ${wholes[0]} --json`)];
        expect([verb, own.exitCode, readDocument(own)]).toEqual([verb, 0, readDocument(same)]);
      }
    }
  });

  it('is accepted in capitals and by flags; a pipe gets the whole id', async () => {
    const { run, readFirst } = await openRunner();
    const [short = ''] = await readFirst('runs list --status failed');
    const { run: failed } = readDocument(await run(`runs get ${short.toUpperCase()} --json`)) as { run: Row };
    expect(readDocument(await run(`pull run ${short} --json`)).runId).toBe(failed.runId);
    const { items } = readDocument(await run(`logs list --run ${short} --json`)) as { items: Row[] };
    expect([...new Set(items.map(({ runId }) => runId))]).toEqual([failed.runId]);
    expect((await run('runs list --status failed')).stdout.split('\t')[0]).toBe(failed.runId);
  });

  it('is named as it was typed where there is no such thing', async () => {
    const { run } = await openRunner();
    expect(readError(await run('runs get 0192f3b4-7a10 --json')).message).toContain('"0192f3b4-7a10"');
  });
});

describe('the beginning of the id of a start that waits', () => {
  it('means it, and the run it has become', async () => {
    const box = await boxes.open({ workflows: { one: { serial: true, run: async () => createHook() } } });
    const cwd = await makeProject(await box.listen());
    const run = (line: string, tty = false) => runCli(line.split(' '), { cwd, env: { ...UTF8, NO_COLOR: '1' }, tty });
    const first = await startWorkflow(box, 'one');
    // Ids of one moment begin alike.
    await until(async () => Date.now() - timeOf(first) > 5);
    const { triggerId } = (await call<{ triggerId: string }>(box, 'POST /api/workflows/one/start', {})).body;
    const { stdout } = await run('workflows queue one', true);
    const short = stdout.split('\n')[1]?.split(/ +/)[1] ?? '';
    expect([short, triggerId.startsWith(short), short.length < triggerId.length]).toEqual([short, true, true]);
    expect(readDocument(await run(`why ${short} --json`))).toMatchObject({ triggerId, runId: null, status: 'queued' });
    await call(box, `POST /api/runs/${first}/cancel`);
    const starts = `GET /api/runs/starts?trigger=${short}`;
    const isRun = async () => (await call<{ items: Row[] }>(box, starts)).body.items[0]?.runId !== null;
    await until(isRun);
    const why = readDocument(await run(`why ${short.toUpperCase()} --json`));
    expect(why).toMatchObject({ triggerId, runId: expect.any(String) as string });
    expect(readDocument(await run(`runs get ${short} --json`))).toMatchObject({ run: { runId: why.runId } });
    const { triggerId: next } = (await call<{ triggerId: string }>(box, 'POST /api/workflows/one/start', {})).body;
    expect((await run(`workflows dequeue one ${next.slice(0, -2)} --yes --json`)).exitCode).toBe(0);
    expect(readDocument(await run('workflows queue one --json'))).toMatchObject({ items: [] });
  });
});

describe('the beginnings of ids in a list', () => {
  it('mean each its own', async () => {
    const ids = ['0192f3b4-7a10-7001-8000-000000000001', '0192f3b4-7a10-7002-8000-000000000002'];
    const rules = { items: ids.map((id) => ({ id, name: id })) };
    const box = await startBox({
      'GET /api/guardrails': { body: rules },
      'PUT /api/guardrails/order': { body: rules },
      'GET /api/guardrails/hits': { body: { items: [], nextCursor: null } },
    });
    const both = '0192f3b4-7a10-7002,0192f3b4-7a10-7001';
    await runAgainst(box, ['guardrails', 'order', '--ids', both, '--json']);
    await runAgainst(box, ['guardrails', 'hits', '--rule-id', '0192f3b4-7a10-7002', '--json']);
    expect(box.seen.flatMap(({ line, body }) => (body === '' ? [line] : [line, JSON.parse(body)]))).toEqual([
      'GET /api/guardrails',
      'GET /api/guardrails',
      'PUT /api/guardrails/order',
      { ids: ids.toReversed() },
      'GET /api/guardrails',
      `GET /api/guardrails/hits?ruleId=${ids[1]}`,
    ]);
  });
});

describe('the beginning of several ids', () => {
  const [one, other] = ['0192f3b4-7a10-7001-8000-000000000001', '0192f3b4-7a10-7002-8000-000000000002'];
  const runs = [
    { runId: other, name: 'greet', status: 'failed' },
    { runId: one, name: 'refund', status: 'completed' },
    { runId: '0192f3b4-0000-7000-8000-000000000000', name: 'old', status: 'completed' },
  ];
  const routes = { 'GET /api/runs': { body: { items: runs, nextCursor: null } } };

  it('is refused with their whole ids, and nothing is changed', async () => {
    const box = await startBox(routes);
    const result = await runAgainst(box, ['runs', 'delete', '0192f3b4-7a10', '--yes', '--json']);
    const { code, message } = readError(result);
    expect([code, result.exitCode, message]).toEqual([
      'id_ambiguous',
      1,
      `"0192f3b4-7a10" begins more than one id of runs: ${other} (greet, failed), ${one} (refund, completed).`,
    ]);
    expect((readDocument(result).error as { details: object }).details).toEqual({ ids: [other, one] });
    expect(box.seen.map(({ line }) => line)).toEqual([
      'GET /api/runs?cursor=0192f3b4-7a10-7fff-bfff-ffffffffffff&limit=11',
    ]);
  });

  it('is asked about by the whole id', async () => {
    const box = await startBox(routes);
    const { stderr } = await runAgainst(box, ['runs', 'delete', '0192f3b4-7a10-7001'], { tty: true, stdin: ['n'] });
    expect(stderr).toContain(`svc runs delete ${one}: this cannot be undone.`);
  });

  it('shows more of them in a table', async () => {
    const { stdout } = await runAgainst(await startBox(routes), ['runs', 'list'], { tty: true, columns: 120 });
    expect(
      stdout
        .split('\n')
        .slice(1, 4)
        .map((line) => line.split(' ')[0]),
    ).toEqual(['0192f3b4-7a10-7002', '0192f3b4-7a10-7001', '0192f3b4-0000-7000']);
  });

  it('goes for no name: a session called by one is asked for as it is', async () => {
    const box = await startBox({});
    await runAgainst(box, ['sessions', 'get', 'deadbeef', '--agent-name', 'support']);
    await runAgainst(box, ['runs', 'get', 'deadbee']);
    expect(box.seen.map(({ line }) => line)).toEqual([
      'GET /api/sessions/deadbeef?agent=support',
      'GET /api/runs/deadbee',
    ]);
  });
});

// --- internal ---

/** When an id was made. */
const timeOf = (id: string): number => Number.parseInt(id.replace('-', '').slice(0, 12), 16);

type Row = Record<string, string>;

async function openRunner() {
  const { url } = await openFullBox(boxes);
  const cwd = await makeProject(url);
  const run = (line: string, options: { tty?: boolean } = {}) =>
    runCli(line.split(' '), { cwd, env: { ...UTF8, NO_COLOR: '1' }, columns: 120, ...options });
  return {
    run,
    /** What stands first in the rows of a table. */
    async readFirst(line: string): Promise<string[]> {
      const { stdout } = await run(line, { tty: true });
      return stdout
        .trimEnd()
        .split('\n')
        .slice(1)
        .map((row) => row.split(' ')[0] ?? '');
    },
  };
}
