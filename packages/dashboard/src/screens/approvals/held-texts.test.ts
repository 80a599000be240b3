import { expect, test } from 'vitest';
import { toHeldTexts } from './held-texts.ts';

test('messages are read one by one, without what there is none of', () => {
  const messages = [
    { role: 'user', text: 'One.\nTwo.' },
    { role: 'tool', text: 'Three.' },
  ];
  expect(toHeldTexts({ agent: 'helper', system: [], messages })).toEqual({
    texts: [
      { label: 'Message, user', text: 'One.\nTwo.' },
      { label: 'Message, tool', text: 'Three.' },
    ],
    isCut: false,
  });
});

test('a reply is what was said and what would be, a result stands behind its call', () => {
  const calls = [{ tool: 'pay', arguments: '{}' }];
  expect(toHeldTexts({ agent: 'helper', said: 'So. ', text: 'Pay.', calls }).texts).toEqual([
    { label: 'Said before', text: 'So. ' },
    { label: 'What it would say', text: 'Pay.' },
    { label: 'Calls behind it', text: JSON.stringify(calls) },
  ]);
  const labels = toHeldTexts({ agent: 'helper', result: 'x', call: { tool: 'look', arguments: {} } }).texts;
  expect(labels.map(({ label }) => label)).toEqual(['Call', 'Result']);
});

test('what is cut says so, and what is not known is shown all the same', () => {
  expect(toHeldTexts({ workflow: 'pay', input: '{"note":"…', cut: ['input'] })).toEqual({
    texts: [{ label: 'Input', text: '{"note":"…' }],
    isCut: true,
  });
  expect(toHeldTexts({ other: { a: 1 } }).texts).toEqual([{ label: 'other', text: '{"a":1}' }]);
  expect(toHeldTexts('Held.').texts).toEqual([{ label: 'Text', text: 'Held.' }]);
});
