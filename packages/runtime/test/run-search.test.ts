import { expect, test } from 'vitest';
import { setAttributes } from '../src/engine/attributes.ts';
import { describeOnBoth } from './_both.ts';
import { call, finish, runWorkflow, setupBoxes, startWorkflow, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();

interface Page {
  items: { runId: string; cut: string[] }[];
  nextCursor: string | null;
  looked?: { runs: number; to: string | null; stored: number };
}

const WORKFLOWS = {
  echo: { run: async (input: unknown) => input },
  give: { run: async () => ({ answer: 'forty-two', when: new Date(0), amounts: new Map([['eur', 17]]) }) },
  mark: { run: async () => null },
  marked: { run: async (marks: Record<string, string>) => setAttributes(marks) },
};
/** More objects than JSON alone is used for. */
const MANY = Array.from({ length: 200 }, (_, n) => ({ n, same: 'row' }));

const search = async (box: TestBox, query: Record<string, string>) => {
  const answer = await call<Page>(box, `GET /api/runs?${new URLSearchParams(query)}`);
  expect(answer.status).toBe(200);
  return answer.body;
};
const idsOf = async (box: TestBox, has: string) => (await search(box, { has })).items.map(({ runId }) => runId);

describeOnBoth(boxes, 'runs that hold a text', (open) => {
  test('are found by their input, output and attributes, of any case, wherever it stands', async () => {
    const box = await open({ workflows: WORKFLOWS });
    const note = `${'x'.repeat(5_000)} Said "No." \\ ÄRGER \u0000 end`;
    const deep = String((await runWorkflow(box, 'echo', { note: note.replace('\u0000', '') })).runId);
    const many = String((await runWorkflow(box, 'echo', { rows: MANY, order: { id: 'A-7' } })).runId);
    const gave = String((await runWorkflow(box, 'give')).runId);
    const marked = String((await runWorkflow(box, 'marked', { customer: 'Ada' })).runId);
    expect(await idsOf(box, 'said "no."')).toEqual([deep]);
    expect(await idsOf(box, '\\ ärger')).toEqual([deep]);
    expect(await idsOf(box, '"order":{"id":"a-7"}')).toEqual([many]);
    expect(await idsOf(box, '"n":199,')).toEqual([many]);
    // Of what is not recorded as JSON too, as it is shown, and not by how it is recorded.
    expect(await idsOf(box, 'forty-TWO')).toEqual([gave]);
    expect(await idsOf(box, '1970-01-01')).toEqual([gave]);
    expect(await idsOf(box, '["eur",17]')).toEqual([gave]);
    expect(await idsOf(box, '"Map"')).toEqual([]);
    expect(await idsOf(box, '"customer":"ada"')).toEqual([marked]);
    expect(await idsOf(box, 'nobody')).toEqual([]);
    expect(await idsOf(box, '\ud800')).toEqual([]);
    const { items, looked } = await search(box, { has: 'ärger', name: 'echo' });
    expect(items[0]?.cut).toEqual(['input', 'output']);
    expect(looked).toMatchObject({ runs: 2, stored: 0 });
    expect((await search(box, {})).looked).toBeUndefined();
  });

  test('are looked for a bounded number at a time, and the next page goes on where that ended', async () => {
    const box = await open({ workflows: WORKFLOWS });
    const wanted = await startWorkflow(box, 'echo', { note: 'needle' });
    await finish(box, wanted);
    const [row] = await box.journal.listBriefRuns({}, { limit: 1 });
    // A journal of many more runs than one page looks through.
    const { listBriefRuns } = box.journal;
    const idOf = (n: number) => `ffffffff-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
    box.journal.listBriefRuns = async (filter, { limit, before }) => {
      const from =
        before === undefined ? 5_000 : before.startsWith('ffffffff') ? Number.parseInt(before.slice(24), 16) : 0;
      const rows = Array.from({ length: Math.min(limit, from) }, (_, at) => ({
        ...(row as NonNullable<typeof row>),
        runId: idOf(from - 1 - at),
        input: '2{}',
        output: null,
      }));
      if (rows.length === limit) return rows;
      const rest = await listBriefRuns(filter, { limit: limit - rows.length });
      return [...rows, ...(before?.startsWith('ffffffff') === false ? [] : rest)];
    };
    let page = await search(box, { has: 'needle' });
    expect(page).toMatchObject({ items: [] });
    expect(page.looked?.runs).toBeLessThanOrEqual(2_000);
    let looked = page.looked?.runs ?? 0;
    let pages = 1;
    while (page.nextCursor !== null && pages < 99) {
      page = await search(box, { has: 'needle', cursor: page.nextCursor });
      looked += page.looked?.runs ?? 0;
      pages += 1;
    }
    expect(page.items.map(({ runId }) => runId)).toEqual([wanted]);
    expect(looked).toBe(5_001);
    expect(pages).toBeGreaterThanOrEqual(3);
  });

  test('are found behind one that is too large to be looked through, and one that is longer as JSON', async () => {
    const row = { text: 'x'.repeat(60_000) };
    const shared = { run: async () => ({ at: new Date(0), rows: Array.from({ length: 10_000 }, () => row) }) };
    const box = await open({ workflows: { ...WORKFLOWS, shared } });
    const wanted = String((await runWorkflow(box, 'echo', { note: 'a, needle' })).runId);
    const longer = await startWorkflow(box, 'shared');
    await until(async () => (await box.journal.getRun(longer))?.status === 'completed');
    const large = String((await runWorkflow(box, 'mark', { note: 'a, needle', more: 'x'.repeat(9_000) })).runId);
    // As a turn with images is.
    const { listBriefRuns } = box.journal;
    box.journal.listBriefRuns = async (...asked) =>
      (await listBriefRuns(...asked)).map((one) =>
        one.runId === large ? { ...one, bytes: { ...one.bytes, input: 20_971_520 } } : one,
      );
    const ids: string[] = [];
    const looked = { runs: 0, stored: 0 };
    // A page ends after a while, whatever it has found.
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Page = await search(box, { has: 'a, needle', ...(cursor ? { cursor } : {}) });
      ids.push(...page.items.map(({ runId }) => runId));
      looked.runs += page.looked?.runs ?? 0;
      looked.stored += page.looked?.stored ?? 0;
      cursor = page.nextCursor;
    }
    expect(ids).toEqual([wanted]);
    expect(looked).toEqual({ runs: 3, stored: 2 });
  });

  test('are a page of as many as are asked for', async () => {
    const box = await open({ workflows: WORKFLOWS });
    const runs: string[] = [];
    for (let n = 0; n < 5; n++) runs.unshift(String((await runWorkflow(box, 'echo', { of: 'page' })).runId));
    const first = await search(box, { has: 'page', limit: '2' });
    expect(first.items.map(({ runId }) => runId)).toEqual(runs.slice(0, 2));
    const second = await search(box, { has: 'page', limit: '3', cursor: first.nextCursor ?? '' });
    expect(second.items.map(({ runId }) => runId)).toEqual(runs.slice(2));
    expect(second.nextCursor).toBeNull();
  });
});
