import type { SqlClient } from '../../../stores/sql.ts';
import { createGroupCommit } from '../../group-commit.ts';
import type { HookStore } from '../../journal/hooks.ts';
import { createHookFinder, resumeInTransaction } from './hooks.ts';
import { COMMIT_LIMITS, MOST_SHARED } from './limit.ts';
import { createResumeWriter, sizeOfResume } from './resumes.ts';
import { transact } from './transaction.ts';
import { createHookReader } from '../sql/hooks.ts';
import type { Statements } from '../sql/statements.ts';

export interface PostgresHooks {
  hooks: HookStore;
  /** Resolves when nothing is under way. */
  idle(): Promise<unknown>;
}

export interface PostgresHookOptions {
  /** Tries no statement again, which `retrying` does. */
  client: SqlClient;
  retrying: SqlClient;
  statements: Statements;
}

/** Resumes, and looks for the hook of a token, that come in together share a statement. */
export function createPostgresHooks(options: PostgresHookOptions): PostgresHooks {
  const { client, retrying, statements } = options;
  const { tables } = statements;
  const resumes = createGroupCommit(createResumeWriter(client, tables), {
    ...COMMIT_LIMITS,
    maxEntries: MOST_RESUMED,
    sizeOf: sizeOfResume,
    keyOf: ({ token }) => token,
  });
  const finds = createGroupCommit(createHookFinder(retrying, tables), { maxEntries: MOST_FOUND });
  return {
    hooks: {
      ...createHookReader(statements),
      find: (token) => finds.add(token),
      async resume(token, payload, how = {}) {
        const given = { token, payload, options: how };
        const shared = sizeOfResume(given) <= MOST_SHARED ? await resumes.add(given) : undefined;
        return shared ?? transact(retrying, (tx) => resumeInTransaction(tx, tables, given));
      },
    },
    idle: () => Promise.all([resumes.idle(), finds.idle()]),
  };
}

// --- internal ---

/** The parts of their statement are joined row by row, and it answers what each hook was made with. */
const MOST_RESUMED = 100;

/** Hooks of one answer, each with what its run has given with it, which may be megabytes. */
const MOST_FOUND = 20;
