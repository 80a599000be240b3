import { expect, test } from 'vitest';
import type { ScheduleDeclaration } from '../definitions/workflow-settings.ts';
import { toDeclared } from './declared.ts';
import type { KnownTimer } from './declared.ts';

const MAIL: ScheduleDeclaration = { cron: '0 8 * * *', input: 'mail everybody' };
const CHARGE: ScheduleDeclaration = { cron: '0 9 * * *', input: 'charge cards' };
const NEW: ScheduleDeclaration = { cron: '0 7 * * *', input: 'new' };

/** What the lists make of each other, one after the other: the inputs by number. */
function follow(...lists: ScheduleDeclaration[][]): Record<string, unknown> {
  let known: KnownTimer[] = [];
  for (const schedules of lists) {
    const declared = toDeclared({ name: 'report', schedules }, known, 0);
    const gone = known.filter(({ id }) => !declared.some((timer) => timer.id === id));
    known = [
      ...declared.map((timer) => ({ ...timer, isGone: false })),
      ...gone.map((timer) => ({ ...timer, isGone: true })),
    ];
  }
  const live = known.filter(({ isGone }) => !isGone);
  return Object.fromEntries(live.map(({ id, cron, input }) => [id, `${cron} ${input.slice(1)}`]));
}

const mail = '0 8 * * * "mail everybody"';
const charge = '0 9 * * * "charge cards"';
const fresh = '0 7 * * * "new"';

test.each([
  ['one before it is removed', [[MAIL, CHARGE], [CHARGE]], { 'report:1': charge }],
  [
    'one is put in front',
    [
      [MAIL, CHARGE],
      [NEW, MAIL, CHARGE],
    ],
    { 'report:0': mail, 'report:1': charge, 'report:2': fresh },
  ],
  [
    'they are put in another order',
    [
      [MAIL, CHARGE],
      [CHARGE, MAIL],
    ],
    { 'report:0': mail, 'report:1': charge },
  ],
  ['an older list comes between', [[MAIL, CHARGE], [], [CHARGE, MAIL]], { 'report:0': mail, 'report:1': charge }],
  [
    'another is there twice',
    [
      [MAIL, MAIL, CHARGE],
      [MAIL, CHARGE],
    ],
    { 'report:0': mail, 'report:2': charge },
  ],
  [
    'its time changes',
    [
      [MAIL, CHARGE],
      [{ ...CHARGE, cron: '0 7 * * *' }, MAIL],
    ],
    { 'report:0': mail, 'report:1': '0 7 * * * "charge cards"' },
  ],
  [
    'its input changes',
    [
      [MAIL, CHARGE],
      [{ ...CHARGE, input: 'new' }, MAIL],
    ],
    { 'report:0': mail, 'report:1': '0 9 * * * "new"' },
  ],
  [
    'another takes the place of one that is removed',
    [
      [MAIL, CHARGE],
      [MAIL, NEW],
    ],
    { 'report:0': mail, 'report:2': fresh },
  ],
] as [string, ScheduleDeclaration[][], Record<string, string>][])(
  'a timer keeps its number when %s',
  (_when, lists, expected) => {
    expect(follow(...lists)).toEqual(expected);
  },
);

test('a timer with a name is that one, whatever changes', () => {
  const named = { ...CHARGE, name: 'charge' };
  expect(follow([MAIL, named], [{ ...NEW, name: 'charge' }])).toEqual({ 'report:charge': fresh });
  expect(follow([named], [CHARGE])).toEqual({ 'report:0': charge });
});
