import type { OperationInput, OperationOutput } from '@svc/runtime/client';
import { toCount } from '../../ui/count.ts';

export type ApiKey = OperationOutput<'keys.list'>['items'][number];
type KeyLimits = NonNullable<ApiKey['limits']>;

/** What a key, and each user it speaks for, may use, as it is typed: empty is no limit. */
export const LIMITS = [
  ['requestsPerMinute', 'Requests a minute'],
  ['concurrentTurns', 'Turns at once'],
  ['tokensPerDay', 'Tokens a day'],
  ['tokensPerMonth', 'Tokens a month'],
] as const;

export type Limit = (typeof LIMITS)[number][0];
export type TypedLimits = Readonly<Record<Limit, string>>;

export interface TypedUse {
  own: TypedLimits;
  users: TypedLimits;
  /** One a line. */
  addresses: string;
}

export function toTyped(key?: Pick<ApiKey, 'limits' | 'addresses'>): TypedUse {
  return {
    own: toTexts(key?.limits),
    users: toTexts(key?.limits?.users),
    addresses: (key?.addresses ?? []).join('\n'),
  };
}

/** As the box takes it. What is no number is sent as it is typed, and refused at its field. */
export function readTyped({
  own,
  users,
  addresses,
}: TypedUse): Pick<OperationInput<'keys.create'>, 'limits' | 'addresses'> {
  const [mine, theirs] = [readLimits(own), readLimits(users)];
  const listed = addresses.split(/[\s,]+/).filter(Boolean);
  const limits = { ...mine, ...(theirs ? { users: theirs } : {}) };
  return {
    limits: Object.keys(limits).length > 0 ? limits : null,
    addresses: listed.length > 0 ? listed : null,
  };
}

/** `10 requests a minute, 1,000 tokens a day`. */
export function describeLimits(limits: ApiKey['limits']): string {
  return LIMITS.flatMap(([name, title]) => {
    const most = limits?.[name];
    return most ? [`${toCount(most)} ${title.toLowerCase()}`] : [];
  }).join(', ');
}

// --- internal ---

function toTexts(limits: Partial<Omit<KeyLimits, 'users'>> | null | undefined): TypedLimits {
  return Object.fromEntries(LIMITS.map(([name]) => [name, limits?.[name]?.toString() ?? ''])) as Record<Limit, string>;
}

function readLimits(typed: TypedLimits): Partial<Record<Limit, number>> | undefined {
  const given = LIMITS.flatMap(([name]) => {
    const text = typed[name].replaceAll(/[,\s_]/g, '');
    if (text === '') return [];
    const number = Number(text);
    return [[name, (Number.isNaN(number) ? text : number) as number] as const];
  });
  return given.length > 0 ? Object.fromEntries(given) : undefined;
}
