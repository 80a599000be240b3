/**
 * The lock of a session: one turn at a time has it. A turn that finds it taken is refused and none waits for it, so that its
 * end passes it on to no other, which would take a transaction. The name of a workflow, with which other locks begin, has no space.
 */
export function toSessionLock(sessionId: string): { key: string; whenTaken: 'refuse' } {
  return { key: `${SESSION}${sessionId}`, whenTaken: 'refuse' };
}

/** Whether starts may wait for the lock. */
export function isWaitedFor(serialKey: string | null): serialKey is string {
  return serialKey !== null && !serialKey.startsWith(SESSION);
}

// --- internal ---

const SESSION = 'session ';
