import { z } from 'zod';
import { BoxError } from '../errors.ts';
import { parseJson } from './values.ts';

export const COMPARISONS = { eq: '=', ne: 'is distinct from', lt: '<', lte: '<=', gt: '>', gte: '>=' } as const;

const Filter = z.union([
  z.strictObject({
    column: z.string(),
    is: z.enum([...(Object.keys(COMPARISONS) as (keyof typeof COMPARISONS)[]), 'contains']),
    value: z.union([z.string(), z.number(), z.boolean()]).transform(String),
  }),
  z.strictObject({ column: z.string(), is: z.enum(['null', 'not-null']) }),
]);
export type Filter = z.output<typeof Filter>;

const Filters = z.array(Filter).max(10);

/** Throws `invalid_request` for a text that is no list of conditions. */
export function parseFilters(text: string | undefined): Filter[] {
  if (text === undefined) return [];
  const parsed = Filters.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const place = issue?.path.length ? ` at ${issue.path.join('.')}` : '';
  const message = `"filter" is no list of conditions${place}. Write it as [{"column":"tag","is":"eq","value":"red"}].`;
  throw new BoxError('invalid_request', message);
}
