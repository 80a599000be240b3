// @ts-check
/**
 * JSON Schema as a person reads a type.
 *
 * @typedef {{ type?: string | string[], const?: unknown, enum?: unknown[], anyOf?: JsonSchema[], items?: JsonSchema,
 *   properties?: Record<string, JsonSchema>, required?: string[], additionalProperties?: unknown, minimum?: number,
 *   maximum?: number, default?: unknown, description?: string }} JsonSchema
 */

/**
 * One line. Members of an object inside an object are named, no more.
 * @param {JsonSchema} schema
 * @returns {string}
 */
export function formatType(schema, depth = 0) {
  const { const: constant, enum: values, anyOf, type, items } = schema;
  if (constant !== undefined) return JSON.stringify(constant);
  if (values) return values.map((value) => JSON.stringify(value)).join(' | ');
  if (anyOf) return anyOf.map((one) => formatType(one, depth)).join(' | ');
  if (Array.isArray(type)) return type.map((one) => formatType({ ...schema, type: one }, depth)).join(' | ');
  if (type === 'array') return `${wrapUnion(formatType(items ?? {}, depth))}[]`;
  if (type === 'object') return formatObject(schema, depth);
  if (type === 'integer' || type === 'number') return `${type}${formatRange(schema)}`;
  return type ?? 'unknown';
}

/**
 * An object with one line for each member, with what the member means; anything else as one line.
 * @param {JsonSchema} schema
 */
export function formatAnswer(schema) {
  const members = Object.entries(schema.properties ?? {});
  if (schema.type !== 'object' || members.length === 0) return formatType(schema);
  const lines = members.map(([name, member]) => {
    const meaning = member.description ? ` // ${member.description}` : '';
    return `  ${memberName(name, schema)}: ${formatType(member, 1)};${meaning}`;
  });
  return ['{', ...lines, '}'].join('\n');
}

// --- internal ---

/**
 * @param {JsonSchema} schema
 * @param {number} depth
 */
function formatObject(schema, depth) {
  const members = Object.entries(schema.properties ?? {});
  if (members.length === 0) return 'object';
  const shown = members.map(([name, member]) =>
    depth >= 2 || members.length > INLINE_MEMBERS
      ? memberName(name, schema)
      : `${memberName(name, schema)}: ${formatType(member, depth + 1)}`,
  );
  return `{ ${shown.join(', ')} }`;
}

const INLINE_MEMBERS = 8;

/**
 * @param {string} name
 * @param {JsonSchema} schema
 */
function memberName(name, { required = [] }) {
  return required.includes(name) ? name : `${name}?`;
}

/** @param {JsonSchema} schema */
function formatRange({ minimum = -Infinity, maximum = Infinity }) {
  // Without limits of its own an integer has those JavaScript can count to.
  const low = minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined;
  const high = maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  if (low === undefined && high === undefined) return '';
  return ` ${low ?? ''}..${high ?? ''}`;
}

/** @param {string} type */
function wrapUnion(type) {
  return type.includes(' | ') && !type.startsWith('{') ? `(${type})` : type;
}
