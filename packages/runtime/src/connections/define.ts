import { z } from 'zod';
import { CONNECTION_MEMBERS } from './inputs.ts';

/** A service of others that the workspace calls, in code: the file's name is its id. It holds no credential. */
export type ConnectionDefinition = z.input<typeof Definition>;

/** What a definition says, with its defaults. */
export type DefinedConnection = z.output<typeof Definition>;

/**
 * Declares a connection, in `connections/<id>.connection.ts`. A box that has none of that id makes it so; one that is there
 * stays as it is. Throws a sentence when a part is wrong.
 */
export function defineConnection(connection: ConnectionDefinition): ConnectionDefinition {
  parseDefinition(connection);
  return Object.freeze({ ...connection, [CONNECTION]: true });
}

export function isConnection(value: unknown): value is ConnectionDefinition {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[CONNECTION] === true;
}

/** Throws a sentence when a part is wrong. */
export function parseDefinition(connection: ConnectionDefinition): DefinedConnection {
  const parsed = Definition.safeParse(connection);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new TypeError(`${issue?.path.join('.') || 'A connection'}: ${issue?.message ?? 'It is not usable'}.`);
}

// --- internal ---

const CONNECTION = Symbol.for('svc.connection');

const Definition = z.strictObject(CONNECTION_MEMBERS);
