import { openClient, toSegment } from '../client/client.ts';
import { CliError } from '../errors.ts';
import type { Context } from '../context.ts';
import type { OperationForm } from './form.ts';
import type { Row } from './row.ts';

/** The value that `svc config set` takes. */
export const CONFIG_VALUE: OperationForm = {
  replaces: ['value'],
  flags: { value: { type: 'positional', required: true, description: 'JSON, or text where the type is text.' } },
  mayBeEmpty: ['value'],
  read: readConfigValue,
};

// --- internal ---

/** The value as its key has it: text where the declared type is text, else JSON. */
async function readConfigValue(args: Record<string, unknown>, context: Context): Promise<Row> {
  const key = String(args.key);
  const text = String(args.value);
  const { type } = await openClient(args, context).get<{ type: unknown }>(`/api/config/${toSegment(key)}`);
  const types = listTypes(type);
  if (types.length > 0 && types.every((name) => name === 'string')) return { value: text };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    if (types.length === 0 || types.includes('string')) return { value: text };
    throw new CliError('invalid_json', `"${text}" is not the JSON that "${key}" takes: ${(error as Error).message}.`, {
      suggestion: `Run \`svc config get ${key}\` to see its type.`,
    });
  }
}

/** The JSON types a schema takes; none where it does not say. */
function listTypes(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { type, anyOf, enum: values, const: value } = schema as Record<string, unknown>;
  if (Array.isArray(anyOf)) return anyOf.flatMap(listTypes);
  if (type !== undefined) return [type].flat().map(String);
  return [values ?? (value === undefined ? [] : [value])].flat().map((one) => typeof one);
}
