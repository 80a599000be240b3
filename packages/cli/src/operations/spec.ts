import { existsSync, readFileSync } from 'node:fs';
import type { Operation } from '@svc/runtime/host';
import type { Method } from '../client/connection.ts';
import type { Schema } from '../payload/schema.ts';

/** An operation of the box as plain data: all that a verb is made of. */
export interface OperationSpec {
  id: string;
  summary: string;
  method: Method;
  /** With its parameters: `/api/runs/:id`. */
  path: string;
  confirm: boolean;
  isStream: boolean;
  /** The member that is the whole body. */
  body?: string | undefined;
  /** Header name to member. */
  headers: Record<string, string>;
  input: Schema;
  output: Schema;
}

/** The operation of that id: as the build of this command noted it, else from the registry, which takes longer to load. */
export async function loadSpec(id: string): Promise<OperationSpec> {
  const noted = readNoted()?.find((spec) => spec.id === id);
  if (noted) return noted;
  const known = made.get(id) ?? makeSpec(id);
  made.set(id, known);
  return known;
}

/** The member of an answer that goes on with the next page. Undefined: its pages are no list. */
export function findListed({ input, output }: Pick<OperationSpec, 'input' | 'output'>): string | undefined {
  if (!('cursor' in (input.properties ?? {}))) return undefined;
  return LISTED.find((name) => name in (output.properties ?? {}));
}

/** Every operation, for the build to note. */
export async function listSpecs(): Promise<OperationSpec[]> {
  const { OPERATIONS } = await import('@svc/runtime/host');
  return Promise.all(OPERATIONS.map(toSpec));
}

/** The names in the path, in their order. */
export function listParams({ path }: Pick<OperationSpec, 'path'>): string[] {
  return Array.from(path.matchAll(/:(\w+)/g), ([, name = '']) => name);
}

/** The members of an answer; of several shapes, those of all. */
export function listMembers(schema: Schema): Record<string, Schema> {
  if (schema.anyOf) return Object.assign({}, ...schema.anyOf.map(listMembers)) as Record<string, Schema>;
  return schema.properties ?? {};
}

// --- internal ---

/** `cases`: of one run of a suite. */
const LISTED = ['items', 'cases'];

/** Without a build: those that were asked for. */
const made = new Map<string, Promise<OperationSpec>>();

async function makeSpec(id: string): Promise<OperationSpec> {
  const { OPERATIONS } = await import('@svc/runtime/host');
  const op = OPERATIONS.find((candidate) => candidate.id === id);
  if (!op) throw new Error(`There is no operation "${id}".`);
  return toSpec(op);
}

/** Written by the build beside what it builds; the sources have none. */
function readNoted(): OperationSpec[] | undefined {
  const file = new URL('operations.json', import.meta.url);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as OperationSpec[]) : undefined;
}

async function toSpec(op: Operation): Promise<OperationSpec> {
  const { splitRoute, toJsonSchema } = await import('@svc/runtime/host');
  return {
    id: op.id,
    summary: op.summary,
    ...splitRoute(op.route),
    confirm: op.confirm === true,
    isStream: op.answer === 'sse',
    body: op.body,
    headers: op.headers ?? {},
    input: (await toJsonSchema(op.input, 'input')) as Schema,
    output: (await toJsonSchema(op.output, 'output')) as Schema,
  };
}
