import { expect, test } from 'vitest';
import { CALLS } from './outcome.ts';

const callOf = (name: string, args: unknown = {}) =>
  ({ id: 'c', type: 'function', function: { name, arguments: JSON.stringify(args) } }) as const;
const outcomeOf = (name: string, result: unknown) =>
  CALLS.toOutcome(callOf(name), typeof result === 'string' ? result : JSON.stringify(result));

test.each(['call_read_operation', 'call_write_operation', 'confirm_operation'])(
  '"%s" is named by its operation',
  (name) => {
    const call = callOf(name, { operation: 'runs.get', input: { id: 'r' }, requestState: 'v1.x' });
    expect(CALLS.toCalled(call)).toEqual({ name: 'runs.get', args: '{"id":"r"}' });
  },
);

test('what calls no operation, or says not which, has the name of its tool', () => {
  const calls = [
    callOf('list_operations', { query: 'x' }),
    callOf('navigate', { screen: 'runs' }),
    callOf('call_read_operation'),
  ];
  expect(calls.map(CALLS.toCalled)).toEqual([undefined, undefined, undefined]);
});

test.each([
  ['call_read_operation', { items: [] }, undefined],
  [
    'call_write_operation',
    { code: 'forbidden', message: 'It needs more.' },
    { text: 'It needs more. (forbidden)', is: 'refused' },
  ],
  [
    'call_write_operation',
    { code: 'confirmation_required', message: 'Sure?', requestState: 'v1' },
    { text: 'Nothing has run: it asks you first.', is: 'asks' },
  ],
  [
    'call_write_operation',
    { code: 'confirmation_required', message: 'Gone.', details: {} },
    { text: 'Gone. (confirmation_required)', is: 'refused' },
  ],
  ['confirm_operation', { ran: 'in part', note: '1 of 3 are done.' }, { text: '1 of 3 are done.', is: 'done' }],
  [
    'confirm_operation',
    'It was not run: "Ann" rejected it.',
    { text: 'It was not run: "Ann" rejected it.', is: 'refused' },
  ],
  ['confirm_operation', `{"items":"${'x'.repeat(60_000)}"}`, undefined],
  ['navigate', { ok: true, opened: 'Runs' }, { text: 'Opened Runs.', is: 'done' }],
  ['navigate', { refused: true, reason: 'No.' }, { text: 'No.', is: 'refused' }],
  ['note', 'noted', undefined],
])('"%s" that answers %o is spoken of as %o', (name, result, outcome) => {
  expect([outcomeOf(name, result)]).toEqual([outcome]);
});
