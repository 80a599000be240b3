import { expect, test } from 'vitest';
import { childText, listChildren, readRoot } from './xml.ts';

const LENGTH = 2_000_000;
const fill = (text: string): string => text.repeat(LENGTH / text.length);

test.each([
  ['line ends', `<r>${fill('\r')}</r>`],
  ['line ends of two characters', `<r>${fill('\r\n')}</r>`],
  ['elements', `<r>${fill('<a/>')}</r>`],
  ['elements in each other', fill('<a>')],
  ['attributes', `<r ${Array.from({ length: LENGTH / 12 }, (_, at) => `a${at}="1"`).join(' ')}/>`],
  ['entities', `<r>${fill('&amp;')}</r>`],
  ['declared entities', `<!DOCTYPE r [${fill('<!ENTITY a "aaaa">')}]><r>&a;</r>`],
  ['one text', `<r>${fill('x')}</r>`],
  ['spaces', `${fill(' ')}<r/>`],
  ['comments that do not end', fill('<!--')],
])('a document of nothing but %s is read, or refused, at once', (_, text) => {
  const start = performance.now();
  try {
    readRoot(text);
  } catch {
    // Either will do.
  }
  expect(performance.now() - start).toBeLessThan(20_000);
});

test('a page of 1,000 keys is read, with the longest there may be', () => {
  const key = '%F0%9F%98%80'.repeat(250);
  const entry = `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;${'a'.repeat(32)}&quot;</ETag><Size>1</Size><Owner><ID>ada</ID><DisplayName>ada</DisplayName></Owner><StorageClass>STANDARD</StorageClass></Contents>`;
  const text = `<?xml version="1.0"?>\r\n<ListBucketResult>${entry.repeat(1_000)}</ListBucketResult>`;
  expect(text.length).toBeLessThan(4 * 1_048_576);
  const found = listChildren(readRoot(text), 'Contents');
  expect([found.length, childText(found[999]!, 'Key'), childText(found[999]!, 'ETag')]).toEqual([
    1_000,
    key,
    `"${'a'.repeat(32)}"`,
  ]);
});
