import { createElement } from 'react';
import { beforeAll, describe, expect, test } from 'vitest';
import { openPart, REFUSAL, stubBrowser, textOf } from '../../app/_draw.ts';
import { LogLines } from './log-lines.tsx';
import type { ShownLines } from './use-logs.ts';

const SHOWN: ShownLines = {
  lines: [],
  isLoading: false,
  error: undefined,
  isRetrying: false,
  isCut: false,
  hasGap: false,
  hasOlder: false,
  onOlder: async () => {},
  onRetry: () => {},
};

describe('a log', () => {
  beforeAll(stubBrowser);
  const draw = async (given: Partial<ShownLines>) =>
    (await openPart(() => createElement(LogLines, { ...SHOWN, ...given, empty: 'Nothing was logged yet' })))();

  test('that is refused says why, with a way on, and not that it is empty', async () => {
    const text = textOf(await draw({ error: REFUSAL }));
    for (const part of [REFUSAL.message, 'overloaded', 'Try again']) expect(text).toContain(part);
    for (const part of ['Nothing was logged yet', 'tried again by itself']) expect(text).not.toContain(part);
  });

  test('that is tried again by itself says so', async () => {
    expect(textOf(await draw({ error: REFUSAL, isRetrying: true }))).toContain('tried again by itself');
  });

  test('that is empty says so', async () => {
    expect(textOf(await draw({}))).toContain('Nothing was logged yet');
  });
});
