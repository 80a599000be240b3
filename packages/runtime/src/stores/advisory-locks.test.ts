import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ADVISORY_LOCKS } from './advisory-locks.ts';

const SOURCE = fileURLToPath(new URL('..', import.meta.url));

test('each advisory lock has a number of its own, and keeps that of earlier releases', () => {
  expect(ADVISORY_LOCKS).toEqual({
    migrations: 7_305_126,
    projectMigrations: 7_305_127,
    logs: 7_305_128,
    identity: 7_305_129,
    rewrap: 7_305_130,
    reading: 7_305_131,
  });
  expect(new Set(Object.values(ADVISORY_LOCKS)).size).toBe(Object.keys(ADVISORY_LOCKS).length);
});

test('no lock is taken by a number that is not in the table', () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const taken = files.flatMap((file) => {
    const text = readFileSync(join(SOURCE, file), 'utf8');
    return [...text.matchAll(/advisory_(?:xact_)?lock\(\s*(\d[\d_]*)/g)].map(([, number]) => `${file}: ${number}`);
  });
  expect(taken).toEqual([]);
});
