import { eq } from 'drizzle-orm';
import { askedByOf } from '../engine/box-marks.ts';
import type { Journal } from '../engine/journal.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { sessions } from '../sessions/table.ts';

export interface AskerFinderOptions {
  journal: Pick<Journal, 'getRun' | 'hooks'>;
  db: Drizzle;
}

/** Finds who asked for a run, for what an approval or a hook waits, or for a session, where not everyone may see it. */
export function createAskerFinder({ journal, db }: AskerFinderOptions): (id: string) => Promise<string | undefined> {
  return async (id) => {
    const run = (await journal.getRun(id)) ?? (await findByHook(journal, id));
    if (run) return askedByOf(run);
    if (!UUID.test(id)) return undefined;
    const [session] = await db.select({ askedBy: sessions.askedBy }).from(sessions).where(eq(sessions.id, id));
    return session?.askedBy ?? undefined;
  };
}

// --- internal ---

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;

async function findByHook(journal: AskerFinderOptions['journal'], token: string) {
  const hook = await journal.hooks.find(token);
  return hook && journal.getRun(hook.runId);
}
