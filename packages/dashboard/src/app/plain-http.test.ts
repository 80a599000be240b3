import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { newId } from '../api/new-id.ts';
import { answer, openPart, openScreen, stubBrowser, textOf } from './_draw.ts';
import { StartMany } from '../screens/workflow/start-many.tsx';
import { createElement } from 'react';

/** What browsers keep from a page that comes from another machine by plain http. */
const KEPT = /\bcrypto\.(?:randomUUID|subtle)\b|\bnavigator\.(?:clipboard|serviceWorker|locks|storage)\b/;

describe('A page that comes from another machine by plain http', () => {
  beforeAll(() => {
    stubBrowser();
    const { crypto } = globalThis;
    vi.stubGlobal('crypto', {
      getRandomValues: <T extends ArrayBufferView>(of: T) => crypto.getRandomValues(of as never),
    });
  });
  afterAll(() => void vi.unstubAllGlobals());

  test('has ids that are UUIDs, none like another', () => {
    const ids = Array.from({ length: 1_000 }, newId);
    for (const id of ids) expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('has the Playground, and the start of many runs', async () => {
    const playground = await openScreen('playground');
    const empty = { agents: [], workflows: [], items: [] };
    expect(textOf(playground((query) => answer(query, empty)))).toContain('There is no agent yet');
    const many = await openPart(() => createElement(StartMany, { name: 'shop', onClose: () => {} }));
    expect(textOf(many())).toContain('Start shop many times');
  });

  test('is asked by no source for what it has not', () => {
    const sources = import.meta.glob<string>(['../**/*.{ts,tsx}', '!../**/*.test.ts'], {
      query: '?raw',
      import: 'default',
      eager: true,
    });
    expect(Object.keys(sources).length).toBeGreaterThan(200);
    const asking = Object.entries(sources).flatMap(([file, text]) =>
      KEPT.test(text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')) ? [file] : [],
    );
    expect(asking).toEqual([]);
  });
});
