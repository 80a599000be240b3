import { expect, test } from 'vitest';
import { rank } from './choice.ts';
import { readId } from './ids.ts';

const choice = (title: string) => ({ id: title, kind: 'screen', title, to: '/' });
const RUN = '0199f2c4-1a2b-7c3d-8e4f-5a6b7c8d9e0f';
const TOKEN = 'aB3_'.repeat(11);

test.each([
  ['a whole id', RUN, { id: RUN, form: 'uuid', isWhole: true }],
  ['an id with capitals and blanks', ` ${RUN.toUpperCase()}\n`, { id: RUN, form: 'uuid', isWhole: true }],
  ['an address', `http://127.0.0.1:4242/studio/runs/${RUN}?tab=logs`, { id: RUN, form: 'uuid', isWhole: true }],
  ['the beginning of one', '0199F2C4', { id: '0199f2c4', form: 'uuid', isWhole: false }],
  ['more of one', '0199f2c4-1a2b-7', { id: '0199f2c4-1a2b-7', form: 'uuid', isWhole: false }],
  ['the id of an approval', TOKEN, { id: TOKEN, form: 'token', isWhole: true }],
  ['its address', `/studio/approvals?open=${TOKEN}`, { id: TOKEN, form: 'token', isWhole: true }],
  ['its beginning', TOKEN.slice(0, 8), { id: TOKEN.slice(0, 8), form: 'token', isWhole: false }],
])('%s is read out of a text', (_name, text, id) => {
  expect(readId(text)).toEqual(id);
});

test.each(['', 'approvals', 'refund', '0199f2c', 'nightly report', 'refund-order'])('"%s" is no id', (text) => {
  expect(readId(text)).toBeUndefined();
});

test('what is called so comes before what begins so, and that before what holds it', () => {
  const all = ['unrefund', 'the refund', 'refund-order', 'refund', 'other'].map(choice);
  expect(rank(all, ' Refund ').map(({ title }) => title)).toEqual(['refund', 'refund-order', 'the refund', 'unrefund']);
  expect(rank(all, '').map(({ title }) => title)).toEqual(all.map(({ title }) => title));
});
