import { describe, expect, test } from 'vitest';

/** Something a suite cannot run without, and the words for a machine that lacks it. */
export interface Requirement<T> {
  value: T | undefined;
  /** What is missing and how to get it: `SVC_TEST_KV_URL (run .ci/services.sh)`. */
  missing: string;
}

/** The servers that `.ci/services.sh` brings up. */
export const realServers = {
  database: fromEnvironment('SVC_TEST_DATABASE_URL'),
  kv: fromEnvironment('SVC_TEST_KV_URL'),
};

/**
 * A suite that needs something. Without it the suite is skipped under a title that says what it needs; under
 * `SVC_TEST_REQUIRE=1`, as in CI, it fails instead.
 */
export function describeWhen<T>({ value, missing }: Requirement<T>, name: string, suite: (value: T) => void): void {
  const required = process.env['SVC_TEST_REQUIRE'] === '1';
  // The test script lists what comes after "needs".
  const note = value === undefined ? ` [needs ${missing}]` : '';
  describe.skipIf(value === undefined && !required)(`${name}${note}`, () => {
    if (value !== undefined) return suite(value);
    test('is not skipped', () => expect(missing, 'what SVC_TEST_REQUIRE=1 asks for and this machine lacks').toBe(''));
  });
}

// --- internal ---

function fromEnvironment(variable: string): Requirement<string> {
  return { value: process.env[variable] || undefined, missing: `${variable} (run .ci/services.sh)` };
}
