import { describe, expect, it } from 'vitest';
import { runCli } from './_run.ts';
import { findNearest } from '../src/nearest.ts';
import { createStyle } from '../src/terminal/style.ts';
import { formatTable } from '../src/terminal/table.ts';
import { textWidth } from '../src/terminal/width.ts';
import { readDocument, runAgainst, startBox, UTF8 } from './_setup.ts';

const ESCAPE = '\u001B[';
const CONTRACT = {
  version: 15,
  minSupported: 1,
  capabilities: ['queues.jobs', 'storage.s3'],
  build: { name: '@svc/runtime', version: '0.1.0' },
};

function createWidth(columns: number) {
  return createStyle(
    { write() {}, async writeBytes() {}, isTTY: true, columns },
    { ...UTF8, NO_COLOR: '1' },
    { colour: true },
  );
}

describe('colour', () => {
  const rows: [string, { tty: boolean; env: Record<string, string>; flags?: string[] }, boolean][] = [
    ['a terminal has it', { tty: true, env: {} }, true],
    ['a pipe has none', { tty: false, env: {} }, false],
    ['NO_COLOR turns it off', { tty: true, env: { NO_COLOR: '1' } }, false],
    ['an empty NO_COLOR counts as unset', { tty: true, env: { NO_COLOR: '' } }, true],
    ['a dumb terminal has none', { tty: true, env: { TERM: 'dumb' } }, false],
    ['FORCE_COLOR wins over a pipe', { tty: false, env: { FORCE_COLOR: '1' } }, true],
    ['FORCE_COLOR wins over NO_COLOR', { tty: false, env: { FORCE_COLOR: '1', NO_COLOR: '1' } }, true],
    ['FORCE_COLOR=0 turns it off', { tty: true, env: { FORCE_COLOR: '0' } }, false],
    ['--no-color wins over FORCE_COLOR', { tty: true, env: { FORCE_COLOR: '1' }, flags: ['--no-color'] }, false],
    ['--json wins over FORCE_COLOR', { tty: true, env: { FORCE_COLOR: '1' }, flags: ['--json'] }, false],
  ];
  it.each(rows)('%s', async (_, { tty, env, flags = [] }, coloured) => {
    const box = await startBox({ 'GET /api/contract': { body: CONTRACT } });
    const good = await runAgainst(box, ['contract', 'show', ...flags], { tty, env });
    const bad = await runCli(['frobnicate', ...flags], { tty, env });
    expect([good.stdout.includes(ESCAPE), bad.stderr.includes(ESCAPE)]).toEqual([coloured, coloured]);
  });
});

describe('svc contract show', () => {
  it('answers the handshake of the box', async () => {
    const box = await startBox({ 'GET /api/contract': { body: CONTRACT } });
    expect(readDocument(await runAgainst(box, ['contract', 'show', '--json']))).toEqual({
      schema_version: 1,
      ...CONTRACT,
    });
    const { stdout } = await runAgainst(box, ['contract', 'show']);
    expect(stdout).toBe('@svc/runtime 0.1.0\ncontract 15, oldest supported 1\n◆ queues.jobs\n◆ storage.s3\n');
  });
});

describe('one document', () => {
  it('stands alone on one line of stdout, wherever --json stands', async () => {
    const box = await startBox({ 'GET /api/contract': { body: CONTRACT } });
    for (const argv of [
      ['--json', 'contract', 'show'],
      ['contract', '--json', 'show'],
      ['contract', 'show', '--json'],
    ]) {
      const { stdout, stderr, exitCode } = await runAgainst(box, argv);
      expect(stdout.trimEnd().split('\n')).toHaveLength(1);
      expect(stdout).toMatch(/^\{"schema_version":1,/);
      expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
    }
  });
});

describe('tables', () => {
  const columns = [
    { title: 'id', cell: (row: string[]) => row[0] ?? '' },
    { title: 'name', cell: (row: string[]) => row[1] ?? '', shrinks: true },
    { title: 'note', cell: (row: string[]) => row[2] ?? '' },
  ];

  it('shorten long cells first', () => {
    expect(formatTable(columns, [['1', 'abcdefghijklmnop', 'note']], createWidth(20)).split('\n')[1]).toBe(
      '1   abcdefghi…  note',
    );
  });

  it('leave out columns at the right when that is not enough', () => {
    expect(formatTable(columns, [['1', 'abcdefghijklmnop', 'note']], createWidth(15)).split('\n')[1]).toBe(
      '1   abcdefghij…',
    );
  });

  it('count wide characters twice and combining marks not at all', () => {
    expect(['abc', '日本', 'e\u0301', '🚀'].map(textWidth)).toEqual([3, 4, 1, 2]);
    const lines = formatTable(
      columns,
      [
        ['1', '日本', 'x'],
        ['2', 'abcd', 'y'],
      ],
      createWidth(40),
    ).split('\n');
    expect(lines.slice(1)).toEqual(['1   日本  x', '2   abcd  y']);
  });
});

describe('did you mean', () => {
  it.each([
    ['lst', 'list'],
    ['satrt', 'start'],
    ['work', 'workflows'],
    ['LIST', 'list'],
    ['banana', undefined],
  ])('%s: %s', (text, expected) => {
    expect(findNearest(text, ['list', 'start', 'workflows', 'runs'])).toBe(expected);
  });
});
