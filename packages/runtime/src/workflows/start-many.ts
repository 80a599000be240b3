import { toJSONSchema, z } from 'zod';
import type { Caller } from '../auth/caller.ts';
import { BoxError, findBoxError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import type { Log } from '../log.ts';
import { explainText, IdempotencyKey, withoutUndefined } from '../operations/inputs.ts';
import { StartReceipt } from '../runs/start-receipt.ts';
import { parseWith } from '../schema/schema.ts';
import { createYielder } from '../yielder.ts';
import { START_MEMBERS, triggerOf } from './start-options.ts';
import type { PreparedStart, WorkflowStarts } from './starts.ts';

/** How many starts one request takes. */
export const MOST_STARTS = 500;

/** One start of many: what a start takes besides the name of its workflow. */
export const ManyStart = z.strictObject({
  input: z.unknown().optional().describe('Default: {}'),
  ...START_MEMBERS,
  idempotencyKey: IdempotencyKey.describe(
    'Of this start alone; default: that of the request with its place in the list',
  ),
});
export type ManyStart = z.input<typeof ManyStart>;

const index = z.int().describe('Its place in the list, from 0');

const { $schema: _, ...shape } = toJSONSchema(ManyStart, { io: 'input', unrepresentable: 'any' });

/** Documented as `ManyStart`, and read as anything: one that is not valid refuses no other. */
export const LooseStart = z.unknown().meta(shape) as unknown as z.ZodType<ManyStart, ManyStart>;

/** The outcome of each start of many. */
export const ManyStarted = z.object({
  started: z.int(),
  queued: z.int(),
  refused: z.int(),
  items: z
    .array(
      z.union([
        ...StartReceipt.options.map((receipt) => receipt.extend({ index })),
        z.object({
          index,
          status: z.literal('refused'),
          error: z.object({
            code: z.string().describe('What the start alone would be refused with'),
            message: z.string(),
            details: z.record(z.string(), z.unknown()).optional(),
          }),
        }),
      ]),
    )
    .describe('In the order of the starts'),
});
export type ManyStarted = z.output<typeof ManyStarted>;

export interface ManyOptions {
  starts: Pick<WorkflowStarts, 'prepare'>;
  log: Log;
}

export interface ManyAsked {
  name: string;
  items: readonly unknown[];
  caller: Caller;
  /** Of the whole list: each start has it with its place. */
  idempotencyKey?: string | undefined;
}

/**
 * Each start by itself: one that is refused refuses no other. They are judged some at a time, and then made in their order at
 * once, so that those of one batch share a commit and those that queue for one place begin in that order.
 */
export async function startMany(
  options: ManyOptions,
  { name, items, caller, idempotencyKey }: ManyAsked,
): Promise<ManyStarted> {
  const { starts } = options;
  const yielder = createYielder();
  const answers: Started[] = [];
  for (let from = 0; from < items.length; from += BATCH) {
    const batch = items.slice(from, from + BATCH);
    const prepared: Promise<PreparedStart | Refused>[] = [];
    for (const [at, item] of batch.entries()) {
      const key = idempotencyKey === undefined ? undefined : `${idempotencyKey} ${from + at}`;
      prepared.push(orRefused(options, () => prepare(starts, { name, item, caller, key })));
      await yielder.yieldIfDue();
    }
    const ready = await Promise.all(prepared);
    const made = ready.map((start) => (typeof start === 'function' ? orRefused(options, start) : start));
    answers.push(...(await Promise.all(made)));
  }
  const count = (wanted: Started['status']): number => answers.filter(({ status }) => status === wanted).length;
  return {
    started: count('started'),
    queued: count('queued'),
    refused: count('refused'),
    items: answers.map((answer, at) => ({ index: at, ...answer })),
  };
}

// --- internal ---

/** What shares a commit. */
const BATCH = 50;

type Refused = { status: 'refused'; error: { code: ErrorCode; message: string; details?: Record<string, unknown> } };
type Started = StartReceipt | Refused;

interface One {
  name: string;
  item: unknown;
  caller: Caller;
  key: string | undefined;
}

async function prepare(starts: Pick<WorkflowStarts, 'prepare'>, { name, item, caller, key }: One) {
  const parsed = await parseWith(ManyStart, item);
  if (!parsed.ok) throw invalid(parsed.issues);
  const { input = {}, priority, idempotencyKey = key, ...given } = parsed.value as z.output<typeof ManyStart>;
  for (const [member, text] of Object.entries({ idempotencyKey, ...given })) {
    const message = typeof text === 'string' ? explainText(text) : undefined;
    if (message !== undefined) throw invalid([{ path: [member], message }]);
  }
  const level = priority === undefined ? undefined : Number(priority);
  const how = { trigger: triggerOf(caller), caller, priority: level, idempotencyKey, ...given };
  return starts.prepare(name, input, withoutUndefined(how));
}

function invalid(issues: { path: PropertyKey[] | (string | number)[]; message: string }[]): BoxError {
  const [first] = issues;
  const place = first && first.path.length > 0 ? `"${first.path.join('.')}": ` : '';
  const message = `The start is not valid. ${place}${(first?.message ?? 'It does not match').replace(/\.$/, '')}.`;
  return new BoxError('invalid_request', message, { details: { issues } });
}

/** The caller is answered which were made, whatever is wrong with another; of a bug the log has the whole. */
async function orRefused<T>({ log }: ManyOptions, work: () => Promise<T>): Promise<T | Refused> {
  try {
    return await work();
  } catch (error) {
    const known = findBoxError(error);
    if (known) {
      const { code, message, details } = known;
      return { status: 'refused', error: { code, message, ...(details && { details }) } };
    }
    log.error('One start of many failed.', { error });
    return {
      status: 'refused',
      error: { code: 'internal', message: 'Something went wrong. The log of the box says what.' },
    };
  }
}
