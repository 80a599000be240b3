import { expect, test } from 'vitest';
import { toNewRun } from './new-run.ts';

test('a start with a key keeps a short digest of its input, not the input', () => {
  const body = { codeHash: 'c0de', durability: 'process', run: async () => {} } as unknown as Parameters<
    typeof toNewRun
  >[1];
  const start = (text: string) => {
    const request = { kind: 'workflow', name: 'refund', trigger: 'api', idempotencyKey: 'k' } as const;
    return (
      toNewRun({ ...request, input: { text } }, body, { claim: null, givenBytes: Infinity }).idempotency?.digest ?? ''
    );
  };
  const long = 'x'.repeat(100_000);
  expect(start(long).length).toBeLessThan(64);
  expect(start(long)).toBe(start(long));
  expect(start(long)).not.toBe(start(`${long}y`));
});
