import type { Client } from '@svc/runtime/client';
import type { Choice } from './choice.ts';

/** An id that someone has typed or pasted. */
export interface TypedId {
  /** Without what stood around it. */
  id: string;
  /** `uuid`: of a run, a session or a queued start. `token`: of an approval. */
  form: 'uuid' | 'token';
  isWhole: boolean;
}

/**
 * The id in a text: a whole one wherever it is, as in an address, or the beginning of one, of 8 characters or more.
 * Undefined: there is none.
 */
export function readId(text: string): TypedId | undefined {
  const typed = text.trim();
  const [within] = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/i.exec(typed) ?? [];
  if (within !== undefined) return { id: within.toLowerCase(), form: 'uuid', isWhole: true };
  if (UUID_PART.test(typed)) return { id: typed.toLowerCase(), form: 'uuid', isWhole: false };
  const [token] = /(?:^|[^\w-])([\w-]{43,200})$/.exec(typed)?.slice(1) ?? [];
  if (token !== undefined) return { id: token, form: 'token', isWhole: true };
  // A word of a language has none of it; nearly every beginning of a token does.
  if (/^(?=.*[\dA-Z_])[\w-]{8,}$/.test(typed)) return { id: typed, form: 'token', isWhole: false };
  return undefined;
}

/** Looks among the ids of one kind of thing; answers what has that id, or begins with it. */
export type Finder = (client: Client, typed: TypedId, signal: AbortSignal) => Promise<Choice[]>;

/** Those that may know an id of the form. Each asks the box, so that what no screen has loaded is found too. */
export const FINDERS: Record<TypedId['form'], Record<string, Finder>> = {
  uuid: { runs: findRuns, starts: findStarts, sessions: findSessions, approvals: findApprovals },
  token: { approvals: findApprovals },
};

// --- internal ---

const UUID_PART = /^[\da-f]{8}(?:-[\da-f]{0,4}){0,3}(?:-[\da-f]{0,11})?$/i;
/** The last UUIDv7 of all: after a beginning it stands in for the rest. */
const LAST = 'ffffffff-ffff-7fff-bfff-ffffffffffff';
/** As much of an id as a cursor keeps: what is above it are no ids that are ever given. */
const KEPT = 24;
const SHOWN = 8;
const PAGE = 200;
/** So many are looked through where a list is not in the order of its ids. */
const MOST = 4_000;

/** Ids of runs are in the order of the list, and its cursor is one: so a page that begins behind the last possible one has them. */
async function findRuns(client: Client, { id }: TypedId, signal: AbortSignal): Promise<Choice[]> {
  const begin = id.slice(0, KEPT);
  const cursor = begin + LAST.slice(begin.length);
  if (!/^.{14}7.{4}[89ab]/.test(cursor)) return [];
  const { items } = await client.call('runs.list', { cursor, limit: SHOWN }, { signal });
  return items
    .filter(({ runId }) => runId.startsWith(id))
    .map(({ runId, name, status }) => ({
      id: `run ${runId}`,
      kind: `run, ${status}`,
      title: `${name} ${runId}`,
      to: `/runs/${runId}`,
    }));
}

/** The starts that were queued under it, as the runs they have become, or in their queue. */
async function findStarts(client: Client, { id }: TypedId, signal: AbortSignal): Promise<Choice[]> {
  const { items } = await client.call('runs.starts', { trigger: id, limit: SHOWN }, { signal });
  return items.map(({ triggerId, runId, name, status }) => ({
    id: `start ${triggerId}`,
    kind: `start, ${status}`,
    title: `${name} ${triggerId}`,
    ...(runId === null
      ? { to: `/workflows/${encodeURIComponent(name)}`, search: { tab: 'queue' } }
      : { to: `/runs/${runId}` }),
  }));
}

async function findSessions(client: Client, { id, isWhole }: TypedId, signal: AbortSignal): Promise<Choice[]> {
  const toChoice = ({ sessionId, agent, name }: { sessionId: string; agent: string; name: string }): Choice => ({
    id: `session ${sessionId}`,
    kind: `session of ${agent}`,
    title: name,
    to: `/sessions/${sessionId}`,
  });
  // The one form of id that only sessions have.
  if (isWhole && id[14] !== '8') return [];
  if (isWhole) return client.call('sessions.get', { id }, { signal }).then((session) => [toChoice(session)], toNothing);
  const found = await lookThrough(
    (cursor) => client.call('sessions.list', { limit: PAGE, ...cursor }, { signal }),
    ({ sessionId }) => sessionId.startsWith(id),
  );
  return found.map(toChoice);
}

async function findApprovals(client: Client, { id, isWhole, form }: TypedId, signal: AbortSignal): Promise<Choice[]> {
  const toChoice = ({ approvalId, title, status }: { approvalId: string; title: string; status: string }): Choice => ({
    id: `approval ${approvalId}`,
    kind: `approval, ${status}`,
    title,
    to: '/approvals',
    search: { open: approvalId },
  });
  if (isWhole && form === 'uuid') return [];
  if (isWhole)
    return client.call('approvals.get', { id }, { signal }).then((approval) => [toChoice(approval)], toNothing);
  const found = await lookThrough(
    (cursor) => client.call('approvals.list', { limit: PAGE, ...cursor }, { signal }),
    ({ approvalId }) => approvalId.startsWith(id),
  );
  return found.map(toChoice);
}

/** The first page that has some, of those that the last 4,000 are in. */
async function lookThrough<Item>(
  read: (cursor: { cursor?: string }) => Promise<{ items: Item[]; nextCursor: string | null }>,
  isWanted: (item: Item) => boolean,
): Promise<Item[]> {
  let cursor: string | null = null;
  for (let seen = 0; seen < MOST; seen += PAGE) {
    const page: { items: Item[]; nextCursor: string | null } = await read(cursor === null ? {} : { cursor });
    const found = page.items.filter(isWanted);
    if (found.length > 0 || page.nextCursor === null) return found.slice(0, SHOWN);
    cursor = page.nextCursor;
  }
  return [];
}

/** There is none of that id. Anything else that is refused is said. */
function toNothing(error: unknown): [] {
  const { code = '' } = (error ?? {}) as { code?: string };
  if (code.endsWith('_not_found')) return [];
  throw error;
}
