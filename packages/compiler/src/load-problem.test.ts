import { expect, test } from 'vitest';
import { toProblem } from './load-problem.ts';

test('an error that only counts its causes is reported as its first cause', () => {
  const cause = new Error(
    "\u001b[31m[TSCONFIG_ERROR] \u001b[0mFailed to load tsconfig '../tsconfig.json': Tsconfig not found\n",
  );
  const error = Object.assign(new Error('Transform failed with 1 error:\n\n…'), { errors: [cause] });
  expect(toProblem(error, { root: '/workspace', file: 'lib/orders.ts' })).toMatchObject({
    code: 'module_load_failed',
    message: "Failed to load tsconfig '../tsconfig.json': Tsconfig not found",
    file: 'lib/orders.ts',
  });
});
