import { expect, it } from 'vitest';
import type { Problem } from '@svc/runtime/host';
import { isFirst } from '../src/dev/banner.ts';
import { createReport } from '../src/dev/report.ts';

const at = (line: number, column = 3): Problem => ({
  code: 'step_not_awaited',
  file: 'workflows/a.workflow.ts',
  message: 'pay() is not awaited.',
  line,
  column,
  frame: '',
});

it('the same problem in two places of a file is shown twice, and once where its place is not known', () => {
  expect([at(7), at(9), at(7), at(9, 5), at(1, 1)].filter(isFirst)).toEqual([at(7), at(9), at(9, 5)]);
});

it('of two with one message, the one that is gone is named, and the other is not printed again', () => {
  const said: string[] = [];
  const report = createReport({ root: '/', say: (line) => void said.push(line) });
  report.show([at(7), at(9)]);
  expect(said.splice(0).join('\n')).toMatch(/:7:3 [^]*:9:3 /);
  report.show([at(7), at(9)]);
  expect(said.splice(0)).toEqual([]);
  report.show([at(7)]);
  expect(said.splice(0)).toEqual(['no longer wrong: workflows/a.workflow.ts (step_not_awaited)']);
});
