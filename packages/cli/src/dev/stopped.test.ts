import { expect, test } from 'vitest';
import { createStopTalk } from './stopped.ts';

test('the line of a run that failed holds nothing a terminal obeys', () => {
  const lines: string[] = [];
  const message = 'bad \u001B]52;c;cm0gLXJmIH4=\u0007\u001B[31mred\nand more';
  createStopTalk((line) => lines.push(line))({
    runId: 'r1',
    name: 'boom',
    status: 'failed',
    message,
    place: 'workflows/boom.workflow.ts:3',
  } as never);
  expect(lines).toEqual(['boom failed: bad red  workflows/boom.workflow.ts:3  svc why r1']);
});
