import { createElement } from 'react';
import { beforeAll, describe, expect, test } from 'vitest';
import { answer, openPart, stubBrowser, textOf } from '../../app/_draw.ts';
import { Delivery } from './send-event.tsx';

describe('the delivery of an event', () => {
  beforeAll(stubBrowser);
  const read = async (run: { status: string; output?: unknown }) => {
    const draw = await openPart(() => createElement(Delivery, { runId: 'r-1' }));
    return textOf(draw((query) => answer(query, run)));
  };

  test.each([['queued'], ['running'], ['waiting']])('goes on while it is %s', async (status) => {
    expect(await read({ status })).toContain('It is being delivered.');
  });

  test.each([['failed'], ['cancelled']])('that is %s does not look as if it went on', async (status) => {
    const text = await read({ status });
    expect(text).toContain('It was not delivered to all');
    expect(text).not.toContain('It is being delivered');
  });

  test('that has reached no one says so', async () => {
    expect(await read({ status: 'completed', output: { resumed: 0, started: [] } })).toContain(
      'No run waited for it, and no workflow starts by it.',
    );
  });
});
