import { expect, test } from 'vitest';
import { contractPayload } from '../../../runtime/src/health/contract.ts';
import { SPOKEN } from '../../src/api/contract.ts';

test('the dashboard speaks the version of the box beside it', () => {
  expect(SPOKEN).toBe(contractPayload().version);
});
