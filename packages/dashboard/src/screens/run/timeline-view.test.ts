import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, test } from 'vitest';
import { span } from './_spans.ts';
import { Timeline } from './timeline-view.tsx';

const SPANS = [
  span('run', 0, 1_000, { totalTokens: 1_234 }),
  span('ask', 0, 10, { kind: 'model', inputTokens: 1_000, outputTokens: 234, totalTokens: 1_234 }),
  ...(['sleep', 'hook', 'approval'] as const).map((kind) => span(`wait-${kind}`, 10, 990, { kind })),
  span('lost', 10, 20, { kind: 'sleep', status: 'cancelled' }),
  span('pay', 990, 1_000, { status: 'failed' }),
];

/** The row of each span, as it is drawn. */
function draw(isFolded = true): Map<string, string> {
  const html = renderToStaticMarkup(
    createElement(Timeline, {
      spans: SPANS,
      isLive: false,
      isFolded,
      selected: undefined,
      onSelect: () => {},
      opened: new Set<string>(),
      onOpen: () => {},
      closed: new Set<string>(),
      onClose: () => {},
      onGo: () => {},
    }),
  );
  const rows = html.split('role="treeitem"').slice(1);
  return new Map(SPANS.map(({ spanId }, index) => [spanId, rows[index] ?? '']));
}

describe('a row of the timeline', () => {
  test('of a wait is hatched, whatever is waited for, and of what ran is not', () => {
    const rows = draw();
    const hatched = [...rows].flatMap(([id, row]) => (/class="[^"]*\bhatched\b/.test(row) ? [id] : []));
    expect(hatched).toEqual(['wait-sleep', 'wait-hook', 'wait-approval']);
    expect(rows.get('lost')).toContain('bg-muted');
    expect(rows.get('pay')).toContain('bg-bad');
  });

  test('of a call of a model has its tokens, and of what used none has none', () => {
    const rows = draw();
    const used = [...rows].flatMap(([id, row]) => (row.includes('1,234 tok') ? [id] : []));
    expect(used).toEqual(['run', 'ask']);
    expect(rows.get('pay')).not.toContain(' tok');
  });

  test('has idle time collapsed, and in its length once it is not', () => {
    const widthOf = (row = '') => Number(/data-segment="whole"[^>]*width:([\d.]+)%/.exec(row)?.[1]);
    const [folded, whole] = [draw().get('wait-sleep'), draw(false).get('wait-sleep')];
    expect(widthOf(folded)).toBeCloseTo(4, 0);
    expect(widthOf(whole)).toBeCloseTo(98, 0);
    expect(folded).toContain('border-dashed');
    expect(whole).not.toContain('border-dashed');
  });
});
