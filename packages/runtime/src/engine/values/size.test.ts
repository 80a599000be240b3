import { expect, test } from 'vitest';
import { describeOnStores } from '../_stores.ts';
import { errorOf, goOnAfterKill, outputOf, step, until, useBenches } from '../_setup.ts';
import { startWorkflow } from '../primitives/child-workflow.ts';
import { continueAsNew } from '../primitives/continue-as-new.ts';
import { createHook } from '../primitives/hook.ts';
import { digestOf, encode } from '../serialize.ts';
import type { Journal } from '../journal.ts';
import type { JournalRecord } from '../journal/record.ts';
import { getWritable } from '../primitives/writable.ts';

describeOnStores('what is larger than a value may be', (newPlace) => {
  const open = useBenches();
  const large = 'x'.repeat(2_000_000);

  test('an error keeps its name, its code and the beginning of its message, in a step and of a run', async () => {
    const fail = step('fail', async () => {
      throw Object.assign(new Error(`too much: ${large}`), { name: 'Big', code: 'big', fatal: true, body: large });
    });
    const { run, journal } = await open(newPlace(), { main: () => fail() });
    const row = await run('main');
    expect(row).toMatchObject({ status: 'failed' });
    expect(row.error?.length).toBeLessThan(64_000);
    expect(errorOf(row)).toMatchObject({
      name: 'Big',
      code: 'big',
      message: expect.stringMatching(/^too much: x+… .*1048576/) as string,
    });
    const records = await journal.getRecords(row.runId);
    expect(records.map(({ event, error }) => [event, (error?.length ?? 0) < 64_000])).toStrictEqual([['failed', true]]);
  });

  test('a frame is refused before it is written, with its size', async () => {
    const write = step('write', async () => {
      const writer = getWritable<string>().getWriter();
      await writer.write('small');
      await writer.write(large);
    });
    const { run, journal } = await open(newPlace(), { main: () => write() });
    const row = await run('main');
    expect(errorOf(row)).toMatchObject({
      code: 'result_too_large',
      message: expect.stringContaining('2000003 bytes') as string,
    });
    expect(await journal.chunks.read(row.runId, 'default', { after: 0, limit: 9 })).toHaveLength(1);
  });

  const huge = 'x'.repeat(9_000_000);
  const tooLarge = (path: string) => ({
    code: 'payload_too_large',
    message: expect.stringMatching(new RegExp(`9000\\d{3} bytes, most of it "${path}"`)) as string,
    details: {
      path: path.replaceAll('\\', ''),
      limit: expect.any(Number) as number,
      bytes: expect.any(Number) as number,
    },
  });

  test('arguments are refused by path before the step begins, and on a replay again', async () => {
    const begun: string[] = [];
    const send = step('send', (given: { rows: string[] }) => void begun.push(given.rows[0]?.slice(0, 5) ?? ''));
    const main = async () => {
      const refused = await send({ rows: [huge] }).catch((error: Error) => error);
      await send({ rows: ['small'] });
      await createHook({ token: 'go-on' });
      return refused;
    };
    const { second, runId } = await goOnAfterKill(open, newPlace(), { go: main });
    const row = await second.engine.wait(runId, 10_000);
    expect(outputOf(row)).toMatchObject(tooLarge('send.args\\[0\\].rows\\[0\\]'));
    expect(begun).toStrictEqual(['small']);
    const [first] = await second.journal.getRecords(runId);
    expect(first).toMatchObject({ event: 'failed', input: null });
  });

  /** The last one fails whoever writes all of them. */
  const manyRows = () => {
    const rows = Array.from({ length: 60_000 }, (_, n) => ({ note: `${n}: ${'a text '.repeat(60)}` }));
    return [
      ...rows,
      {
        get note(): string {
          throw new Error('All of it is written.');
        },
      },
    ];
  };
  const refusal = (path: string) => ({
    code: 'payload_too_large',
    message: expect.stringContaining(`much of it "${path}"`) as string,
    details: { path },
  });

  test('arguments and metadata far too large are refused by path unwritten, and on a replay again', async () => {
    const take = step('take', (given: unknown) => void given);
    const main = async () => {
      const refused: unknown[] = [];
      for (const given of [
        { rows: manyRows() },
        { text: 'x'.repeat(20_000_000) },
        { bytes: new Uint8Array(9_000_000) },
      ])
        refused.push(await take(given).catch((error: Error) => error));
      refused.push(await startWorkflow('go', { huge: large.repeat(9) }).catch((error: Error) => error));
      refused.push(
        await Promise.resolve()
          .then(() => void createHook({ metadata: { rows: manyRows() } }))
          .catch((error: Error) => error),
      );
      await createHook({ token: 'go-on' });
      return refused;
    };
    const { second, runId } = await goOnAfterKill(open, newPlace(), { go: main });
    const row = await second.engine.wait(runId, 10_000);
    const paths = [
      'take.args[0].rows',
      'take.args[0].text',
      'take.args[0].bytes',
      'start go.input.huge',
      'metadata.rows',
    ];
    expect(outputOf(row)).toMatchObject(paths.map(refusal));
    const [first] = await second.journal.getRecords(runId);
    expect(first).toMatchObject({ event: 'failed', input: null });
  });

  test('arguments that were refused unwritten and are none such on a replay are other arguments', async () => {
    const take = step('take', (given: unknown) => void given);
    const codeWith = (text: string) => ({
      go: async () => {
        await take({ text }).catch(() => {});
        await createHook({ token: 'go-on' });
      },
    });
    const place = newPlace();
    const { journal, start, kill } = await open(place, codeWith('x'.repeat(20_000_000)));
    const { runId } = await start('go');
    await until(async () => (await journal.getRun(runId))?.status === 'waiting');
    await kill();
    const second = await open(place, codeWith('x'));
    await second.engine.resumeHook('go-on', 1);
    await until(async () => (await second.journal.getRun(runId))?.status === 'blocked');
  });

  test('arguments that were recorded before there was a limit are replayed', async () => {
    const measure = step('measure', (text: string) => text.length);
    const place = newPlace();
    const codeWith = (text: string) => ({
      go: async () => [await measure(text), await createHook({ token: 'go-on' })],
    });
    const { journal, start, kill } = await open(place, codeWith('kept'));
    const { runId } = await start('go');
    await until(async () => (await journal.getRun(runId))?.status === 'waiting');
    await kill();
    const input = encode({ args: [huge] }, 'measure');
    const old = async () => {
      const opened = await place.open();
      const toOld = (record: JournalRecord) =>
        record.call === 0 ? { ...record, input, digest: digestOf(input) } : record;
      const listRecords: Journal['listRecords'] = async (id, page) => (await opened.listRecords(id, page)).map(toOld);
      return { ...opened, listRecords };
    };
    const second = await open({ open: old }, codeWith(huge));
    await second.engine.resumeHook('go-on', 1);
    expect(outputOf(await second.engine.wait(runId, 10_000))).toStrictEqual([4, 1]);
  });

  test('inputs, of a start, a child and a continuation, are refused by path', async () => {
    const bench = await open(newPlace(), {
      main: () => startWorkflow('main', { rows: [1, huge] }),
      again: () => continueAsNew({ big: huge }),
    });
    await expect(bench.create('main', { a: { b: huge } })).rejects.toMatchObject(tooLarge('input.a.b'));
    expect(await bench.journal.listRuns({}, { limit: 9 })).toStrictEqual([]);
    expect(errorOf(await bench.run('main'))).toMatchObject(tooLarge('start main.input.rows\\[1\\]'));
    expect(errorOf(await bench.run('again'))).toMatchObject(tooLarge('input.big'));
  });

  test('metadata of hooks and what they are resumed with are refused by path', async () => {
    const bench = await open(newPlace(), {
      main: async () => {
        const refused = await Promise.resolve()
          .then(() => void createHook({ token: 'no', metadata: { big: huge } }))
          .catch((error: Error) => error);
        return [refused, await createHook({ token: 'go-on' })];
      },
    });
    const { runId } = await bench.start('main');
    await until(async () => (await bench.journal.getRun(runId))?.status === 'waiting');
    await expect(bench.engine.resumeHook('go-on', [huge])).rejects.toMatchObject(tooLarge('payload\\[0\\]'));
    await expect(bench.engine.resumeHook('go-on', { rows: manyRows() })).rejects.toMatchObject(refusal('payload.rows'));
    await bench.engine.resumeHook('go-on', 'small');
    const row = await bench.engine.wait(runId, 10_000);
    expect(outputOf(row)).toMatchObject([tooLarge('metadata.big'), 'small']);
  });
});
