import { BoxError } from '../errors.ts';
import { toKeyCaller } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { KEY_PREFIX } from '../auth/credential.ts';
import { whoOfKey } from '../limits/limits.ts';
import type { Limited } from '../limits/limits.ts';
import type { ApiKey } from './api-key.ts';
import type { apiKeys } from './table.ts';

export type KeyRow = typeof apiKeys.$inferSelect;

export function statusOf({ revokedAt, expiresAt }: KeyRow): ApiKey['status'] {
  if (revokedAt) return 'revoked';
  return expiresAt && expiresAt.getTime() <= Date.now() ? 'expired' : 'active';
}

/** Throws `unauthorized`. */
export function requireActive(row: KeyRow): void {
  const status = statusOf(row);
  if (status !== 'active') throw new BoxError('unauthorized', `The API key "${row.name}" is ${status}.`);
}

export function keyNotFound(id: string): BoxError {
  return new BoxError('key_not_found', `There is no API key "${id}".`);
}

export function keyNotActive(id: string, status: string): BoxError {
  return new BoxError('key_not_active', `The API key "${id}" is ${status}. Create another one.`, {
    details: { status },
  });
}

/** Throws `key_not_found`, `key_not_active`. */
export function requireRotatable(id: string, row: KeyRow | undefined): asserts row is KeyRow {
  if (!row) throw keyNotFound(id);
  const status = statusOf(row);
  if (status !== 'active') throw keyNotActive(id, status);
}

/** The application it is a key of. */
export function clientOf({ id, client }: KeyRow): string {
  return client ?? id;
}

export function toLimited(row: KeyRow): Limited {
  return { id: whoOfKey(row.id), name: `The ${nameOf(row)}`, limits: row.limits ?? {} };
}

export function toCaller(row: KeyRow): Caller {
  const { id, agents, workflows, users, sessions, addresses, expiresAt } = row;
  return toKeyCaller({
    id,
    name: nameOf(row),
    client: clientOf(row),
    grants: { agents, workflows },
    hasUsers: users,
    hasAllSessions: sessions === 'agent',
    limited: [toLimited(row)],
    userLimits: row.limits?.users ?? {},
    ...(addresses ? { addresses } : {}),
    ...(expiresAt ? { expiresAt: expiresAt.getTime() } : {}),
  });
}

export function toApiKey(row: KeyRow): ApiKey {
  const { id, name, agents, workflows, limits, addresses, users, sessions, createdBy } = row;
  const toText = (date: Date | null) => date?.toISOString() ?? null;
  return {
    id,
    prefix: `${KEY_PREFIX}${id}`,
    name,
    grants: { agents, workflows },
    limits,
    addresses,
    client: clientOf(row),
    users,
    sessions,
    status: statusOf(row),
    createdBy,
    createdAt: row.createdAt.toISOString(),
    expiresAt: toText(row.expiresAt),
    revokedAt: toText(row.revokedAt),
    lastUsedAt: toText(row.lastUsedAt),
  };
}

// --- internal ---

function nameOf({ id, name }: KeyRow): string {
  return `API key "${name}" (${KEY_PREFIX}${id})`;
}
