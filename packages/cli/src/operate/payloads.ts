import { listVerbs } from '../help.ts';
import type { VerbReference } from '../help.ts';
import { loadSpec } from './spec.ts';
import type { OperationSpec, Schema } from './spec.ts';
import { SPECIALS } from './special.ts';
import { findOperateVerb } from './verbs.ts';

/** What `--json` prints, by command: the JSON Schema of each document, or of each line of a stream. */
export async function listPayloads(): Promise<Record<string, object>> {
  const entries = (await listVerbs()).map(async (verb) => [verb.command, await describePayload(verb)] as const);
  return { failure: FAILURE, ...Object.fromEntries(await Promise.all(entries)) };
}

// --- internal ---

const VERSION = { schema_version: { const: 1 } };

const FAILURE = closed({
  ...VERSION,
  error: closed(
    {
      code: { type: 'string' },
      message: { type: 'string' },
      suggestion: { type: 'string' },
      details: { type: 'object' },
      requestId: { type: 'string' },
    },
    ['code', 'message', 'suggestion', 'details'],
  ),
});

/** A verb of its own says its members in words alone. */
async function describePayload({ command, payload }: VerbReference): Promise<object> {
  const path = command.replace(/^svc /, '');
  const operation = findOperateVerb(path)?.operation ?? SAME[path];
  if (operation === undefined) return describeWords(payload);
  return toDocument(await loadSpec(operation), SPECIALS[path]?.wrap);
}

/** Verbs of their own that print the answer of an operation as it is. */
const SAME: Record<string, string | undefined> = { why: 'runs.why', 'contract show': 'contract.get' };

function describeWords(payload: Record<string, string>): object {
  const members = Object.entries(payload).map(([name, description]) => [name, { description }]);
  return { type: 'object', properties: { ...VERSION, ...Object.fromEntries(members) }, required: ['schema_version'] };
}

function toDocument({ output, isStream }: OperationSpec, wrap: string | undefined): object {
  if (isStream) return { type: 'object', properties: { type: { type: 'string' } }, required: ['type'] };
  if (wrap !== undefined) return closed({ ...VERSION, [wrap]: withoutDialect(output) });
  return output.anyOf ? { anyOf: output.anyOf.map(addVersion) } : addVersion(output);
}

function addVersion(schema: Schema): object {
  const { properties, required = [], ...rest } = withoutDialect(schema);
  return {
    ...rest,
    properties: { ...VERSION, ...properties },
    required: ['schema_version', ...required],
  };
}

/** Without the dialect, and without the pattern of what has a format: it is long and says the same. */
function withoutDialect<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(withoutDialect) as T;
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $schema: _, ...rest } = schema as T & { $schema?: unknown; format?: unknown };
  const members = Object.entries(rest).filter(([name]) => name !== 'pattern' || rest.format === undefined);
  return Object.fromEntries(members.map(([name, value]) => [name, withoutDialect(value)])) as T;
}

function closed(properties: Record<string, unknown>, required: readonly string[] = Object.keys(properties)): object {
  return { type: 'object', properties, required, additionalProperties: false };
}
