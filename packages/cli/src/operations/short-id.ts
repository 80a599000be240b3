import type { Client } from '../client/client.ts';
import { CliError } from '../errors.ts';
import type { Row } from './row.ts';

/** What is found by an id, or by the beginning of one. */
export type Kind = keyof typeof KINDS;

/** What is shown of each of these ids: as much as no other of them begins with. */
export function createShortener(ids: readonly string[]): (id: string) => string {
  const sorted = [...new Set(ids)].toSorted();
  const shared = sorted.map((id, at) => countShared(id, sorted[at + 1] ?? ''));
  const length = Math.max(SHORTEST, ...sorted.map(leastOf), ...shared.map((count) => count + 1));
  return (id) => id.slice(0, id[length - 1] === '-' ? length + 1 : length);
}

/** The kind of thing that stands in the last place of this path: `/api/runs/:id/steps`. Undefined: it has no short ids. */
export function findKind(path: string): { kind: Kind; param: string } | undefined {
  const found = Object.entries(KINDS).find(([, { list }]) => path.startsWith(`${list}/:`));
  if (!found) return undefined;
  const [kind, { list }] = found;
  return { kind: kind as Kind, param: /^\w+/.exec(path.slice(list.length + 2))?.[0] ?? '' };
}

/** Members of an input that hold the id of a run, a session or a queued start. */
export const ID_MEMBERS: Record<string, Kind | undefined> = {
  run: 'run',
  runId: 'run',
  parent: 'run',
  retryOf: 'run',
  forkedFrom: 'run',
  session: 'session',
  triggerId: 'start',
  with: 'eval run',
  ruleId: 'guardrail',
  ids: 'guardrail',
};

/**
 * The whole id of the one thing whose id begins with that. A text that can be no beginning of an id, and one that fits
 * nothing, are answered as they are: the box says what is wrong with them. `open` is called where the box has to be asked.
 * Throws `id_ambiguous`.
 */
export async function findWholeId(kind: Kind, text: string, open: () => Client): Promise<string> {
  const { whole, part } = KINDS[kind];
  if (text.length < SHORTEST || whole.test(text) || !part.test(text)) return text;
  const prefix = whole === UUID ? text.toLowerCase() : text;
  const found = await findAll(kind, prefix, open());
  // A run is meant by the start that waited for it as well.
  if (kind === 'run' && found.length === 0) found.push(...toRuns(await findAll('start', prefix, open())));
  if (found.length <= 1) return found[0]?.id ?? text;
  const names = found.slice(0, SHOWN).map(({ id, words }) => (words === '' ? id : `${id} (${words})`));
  const more = found.length > SHOWN ? [`and more`] : [];
  throw new CliError(
    'id_ambiguous',
    `"${text}" begins more than one id of ${KINDS[kind].plural}: ${[...names, ...more].join(', ')}.`,
    {
      suggestion: 'Give more of it, or the whole id.',
      details: { ids: found.slice(0, SHOWN).map(({ id }) => id) },
    },
  );
}

// --- internal ---

/** As much as tables print at the least. */
const SHORTEST = 8;
/** The time in an id that begins with one: less of it is shared by all that was made in a minute. */
const TIME_LENGTH = 13;
const SHOWN = 10;
const PAGE = 200;
/** So many are looked through where a list is not in the order of its ids. */
const MOST = 4_000;

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;
const UUID_PART = /^[\da-f]{8}(?:-[\da-f]{0,4}){0,3}(?:-[\da-f]{0,11})?$/i;

/**
 * `isOrdered`: the newest id first, and the cursor is an id. `by`: the list itself takes the beginning of an id.
 * `isWhole`: the list has no pages.
 */
const KINDS = {
  run: { list: '/api/runs', id: 'runId', plural: 'runs', whole: UUID, part: UUID_PART, isOrdered: true },
  change: { list: '/api/activity', id: 'id', plural: 'changes', whole: UUID, part: UUID_PART, isOrdered: true },
  session: { list: '/api/sessions', id: 'sessionId', plural: 'sessions', whole: UUID, part: UUID_PART },
  prompt: { list: '/api/prompts', id: 'id', plural: 'prompts', whole: UUID, part: UUID_PART },
  guardrail: { list: '/api/guardrails', id: 'id', plural: 'rules', whole: UUID, part: UUID_PART, isWhole: true },
  'eval run': { list: '/api/evals/runs', id: 'id', plural: 'eval runs', whole: UUID, part: UUID_PART },
  start: {
    list: '/api/runs/starts',
    id: 'triggerId',
    plural: 'queued starts',
    whole: UUID,
    part: UUID_PART,
    by: 'trigger',
  },
  key: { list: '/api/keys', id: 'id', plural: 'keys', whole: /^[\da-f]{20}$/, part: /^[\da-f]+$/ },
  approval: { list: '/api/approvals', id: 'approvalId', plural: 'approvals', whole: /^.{43,}$/, part: /^[\w-]+$/ },
  message: {
    list: '/api/notify/deliveries',
    id: 'deliveryId',
    plural: 'messages',
    whole: /^msg_.{27}$/,
    part: /^msg_[\w-]{4,}$/,
  },
} as const satisfies Record<
  string,
  {
    list: string;
    id: string;
    plural: string;
    whole: RegExp;
    part: RegExp;
    isOrdered?: true;
    isWhole?: true;
    by?: string;
  }
>;

interface Candidate {
  id: string;
  /** What a person knows it by. */
  words: string;
  /** Of a start that has become one. */
  runId?: unknown;
}

interface Page {
  items: Row[];
  nextCursor?: string | null;
}

/** Those whose ids begin with that, and the one alone whose id is that. */
async function findAll(kind: Kind, prefix: string, client: Client): Promise<Candidate[]> {
  const { list: url, id, ...rest } = KINDS[kind];
  const found: Candidate[] = [];
  const take = (items: readonly Row[]): void => {
    for (const item of items) {
      const own = String(item[id]);
      if (own.startsWith(prefix)) found.push({ id: own, words: describe(item), runId: item.runId });
    }
  };
  if ('isOrdered' in rest) {
    const cursor = `${prefix}${LAST.slice(prefix.length)}`;
    if (!TIMED.test(cursor)) return found;
    take((await client.get<Page>(url, { cursor, limit: String(SHOWN + 1) })).items);
    return found;
  }
  if ('by' in rest) {
    take((await client.get<Page>(url, { [rest.by]: prefix, limit: String(SHOWN + 1) })).items);
    return found;
  }
  let cursor: string | null | undefined;
  for (let seen = 0; seen < MOST; seen += PAGE) {
    const query = 'isWhole' in rest ? {} : { limit: String(PAGE), ...(cursor ? { cursor } : {}) };
    const page = await client.get<Page>(url, query);
    take(page.items);
    if (found.some((one) => one.id === prefix)) return found.filter((one) => one.id === prefix);
    if (!page.nextCursor || page.nextCursor === cursor) break;
    cursor = page.nextCursor;
  }
  return found;
}

/** The runs that starts have become; those that wait as they are. */
function toRuns(starts: readonly Candidate[]): Candidate[] {
  return starts.map((start) => (typeof start.runId === 'string' ? { ...start, id: start.runId } : start));
}

/** The last UUIDv7 of all: after a beginning it stands in for the rest. */
const LAST = 'ffffffff-ffff-7fff-bfff-ffffffffffff';
const TIMED = /^.{14}7.{4}[89ab]/;

function describe({ name, title, key, operation, suite, status }: Row): string {
  const what = name ?? title ?? key ?? operation ?? suite;
  return [what, status].filter((word) => typeof word === 'string' && word !== '').join(', ');
}

function leastOf(id: string): number {
  return UUID.test(id) && id[14] === '7' ? TIME_LENGTH : id.startsWith('msg_') ? SHORTEST + 4 : SHORTEST;
}

function countShared(one: string, other: string): number {
  let count = 0;
  while (count < one.length && one[count] === other[count]) count += 1;
  return count;
}
