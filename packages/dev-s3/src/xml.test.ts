import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { childText, formatXml, parseXml } from './xml.ts';

test('what is printed is read back, whatever the text holds', () => {
  const text = fc.string({ unit: 'binary', maxLength: 30 }).filter((value) => Buffer.from(value).toString() === value);
  fc.assert(
    fc.property(text, (value) => {
      const root = parseXml(formatXml(['Delete', [['Object', [['Key', value]]]]]));
      expect(childText(root.children[0]!, 'Key')).toBe(value);
    }),
    { numRuns: 50 },
  );
});

test('comments, CDATA, prefixes, attributes and empty elements are read', () => {
  const root = parseXml(
    '<?xml version="1.0"?>\n<s:A x="1"><!-- <no> --><B/><C y=\'2\' >1 &#60;<![CDATA[<&>]]></C ></s:A>\n',
  );
  expect(root.name).toBe('A');
  expect(childText(root, 'B')).toBe('');
  expect(childText(root, 'C')).toBe('1 <<&>');
});

test.each([
  '',
  'text',
  '<A>',
  '<A></B>',
  '<A/><B/>',
  '</A>',
  '<A',
  '<!DOCTYPE A><A/>',
  '<A>&x;</A>',
  '<A>&#x110000;</A>',
  '<a>'.repeat(10),
])('%j is malformed', (source) => {
  expect(() => parseXml(source)).toThrow(expect.objectContaining({ code: 'MalformedXML' }));
});

test('a document that opens a million comments is refused at once', () => {
  const started = performance.now();
  expect(() => parseXml('<!--'.repeat(1_000_000))).toThrow(expect.objectContaining({ code: 'MalformedXML' }));
  expect(performance.now() - started).toBeLessThan(2000);
});
