import type { JournalRecord } from '../journal/record.ts';
import type { Variables } from '../handle.ts';
import type { RecordedCall } from './recorder.ts';
import { decode, encode } from '../serialize.ts';

/** A variable is recorded by its name and is no call: code that reads one more, or one fewer, replays all the same. */
export function createVariables(
  records: readonly JournalRecord[],
  record: (named: RecordedCall, output: string | null) => void,
): Variables {
  const values = new Map<string, string | undefined>();
  for (const { kind, stepId, output } of records)
    if (kind === 'env') values.set(stepId, output === null ? undefined : (decode(output) as string));
  return {
    has: (name) => values.has(name),
    get: (name) => values.get(name),
    set(name, value) {
      values.set(name, value);
      record({ ...NO_CALL, stepId: name }, value === undefined ? null : encode(value, name));
    },
  };
}

// --- internal ---

const NO_CALL = { call: -1, kind: 'env', digest: '', input: '', attempt: 1 } as const;
