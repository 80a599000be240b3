/** How a column is compared, as people read it. */
export const IS = {
  eq: 'is',
  ne: 'is not',
  contains: 'contains',
  lt: 'is less than',
  lte: 'is at most',
  gt: 'is more than',
  gte: 'is at least',
  null: 'is null',
  'not-null': 'is not null',
} as const;
export type Is = keyof typeof IS;

export interface Condition {
  column: string;
  is: Is;
  value?: string;
}

export function needsValue(is: Is): boolean {
  return is !== 'null' && is !== 'not-null';
}

/** Those of the address that are some; the box says what is wrong with the others. */
export function parseConditions(text: string | undefined): Condition[] {
  if (!text) return [];
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return [];
  }
  return Array.isArray(found) ? found.filter(isCondition).map(toTexts) : [];
}

/** Undefined: there is none. */
export function formatConditions(conditions: readonly Condition[]): string | undefined {
  return conditions.length === 0 ? undefined : JSON.stringify(conditions);
}

// --- internal ---

function isCondition(found: unknown): found is Condition {
  const { column, is, value } = (found ?? {}) as Record<string, unknown>;
  if (typeof column !== 'string' || typeof is !== 'string' || !Object.hasOwn(IS, is)) return false;
  return value === undefined ? !needsValue(is as Is) : ['string', 'number', 'boolean'].includes(typeof value);
}

/** Numbers and booleans, as a person may write them into the address. */
function toTexts({ value, ...rest }: Condition): Condition {
  return value === undefined ? rest : { ...rest, value: String(value) };
}
