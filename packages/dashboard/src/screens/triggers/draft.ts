import type { OperationInput } from '@svc/runtime/client';
import { parseJson, parseObject } from '../../form/parse-json.ts';
import type { Poll, Scheme, Trigger } from './trigger-state.tsx';

type NewTrigger = OperationInput<'triggers.create'>;
type Signature = NonNullable<Trigger['signature']>;

/** A trigger as it is written. */
export interface Draft {
  name: string;
  kind: 'workflow' | 'agent';
  target: string;
  /** Its sender calls, or the box asks. */
  comes: 'webhook' | 'poll';
  /** Of a poll. */
  url: string;
  connection: string;
  often: 'every' | 'cron';
  /** Minutes. */
  every: string;
  cron: string;
  timeZone: string;
  items: string;
  from: 'now' | 'all';
  /** JSON. */
  headers: string;
  scheme: Scheme;
  /** Of the signature, as texts. */
  header: string;
  algorithm: string;
  encoding: string;
  prefix: string;
  timestampHeader: string;
  username: string;
  windowSeconds: string;
  /** One a line. */
  events: string;
  event: string;
  /** JSON. */
  where: string;
  deduplicate: string;
  /** JSON, of a workflow. */
  input: string;
  message: string;
  session: string;
}

export type SignatureMember = Exclude<keyof Signature, 'scheme'>;

/** What each kind of sender is described with. */
export function membersOf(scheme: Scheme): readonly SignatureMember[] {
  return MEMBERS[scheme] ?? [];
}

export function toDraft(trigger: Trigger | undefined): Draft {
  if (!trigger) return EMPTY;
  const { name, target, signature, poll, events, event, where, deduplicate, mapping } = trigger;
  const text = (value: unknown) => (value === undefined || value === null ? '' : String(value));
  return {
    name,
    ...('workflow' in target
      ? { kind: 'workflow' as const, target: target.workflow }
      : { kind: 'agent' as const, target: target.agent }),
    ...(poll ? fromPoll(poll) : NO_POLL),
    scheme: signature?.scheme ?? EMPTY.scheme,
    header: text(signature?.header),
    algorithm: signature?.algorithm ?? 'sha256',
    encoding: signature?.encoding ?? 'hex',
    prefix: text(signature?.prefix),
    timestampHeader: text(signature?.timestampHeader),
    username: text(signature?.username),
    windowSeconds: text(signature?.windowSeconds),
    events: events?.join('\n') ?? '',
    event: text(event),
    where: where === null ? '' : JSON.stringify(where, null, 2),
    deduplicate: text(deduplicate),
    input: mapping?.input === undefined ? '' : JSON.stringify(mapping.input, null, 2),
    message: text(mapping?.message),
    session: text(mapping?.session),
  };
}

/** Throws a sentence that says what does not parse. */
export function toSettings(draft: Draft): Omit<NewTrigger, 'secret' | 'enabled'> {
  const { name, kind, target, scheme, comes } = draft;
  const events = draft.events
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  const where = parseObject('The filter', draft.where) as NonNullable<NewTrigger['where']>;
  return {
    name: name.trim(),
    target: kind === 'workflow' ? { workflow: target } : { agent: target },
    ...(comes === 'poll' ? { poll: toPoll(draft) } : { signature: { scheme, ...toMembers(draft) } }),
    events: events.length === 0 ? null : events,
    event: orNull(draft.event),
    where: Object.keys(where).length === 0 ? null : where,
    deduplicate: orNull(draft.deduplicate),
    mapping: toMapping(draft),
  };
}

/** Whether something is missing that nothing can be done without. */
export function isIncomplete(draft: Draft): boolean {
  const { name, target, scheme, header, username, comes, url, often, cron } = draft;
  if (name.trim() === '' || target === '') return true;
  if (comes === 'poll') return url.trim() === '' || (often === 'cron' && cron.trim() === '');
  if (scheme === 'hmac' || scheme === 'token') return header.trim() === '';
  return scheme === 'basic' && username === '';
}

// --- internal ---

const NO_POLL = {
  comes: 'webhook' as const,
  url: '',
  connection: '',
  often: 'every' as const,
  every: '5',
  cron: '',
  timeZone: '',
  items: '',
  from: 'now' as const,
  headers: '',
};

const EMPTY: Draft = {
  ...NO_POLL,
  name: '',
  kind: 'workflow',
  target: '',
  scheme: 'standard-webhooks',
  header: '',
  algorithm: 'sha256',
  encoding: 'hex',
  prefix: '',
  timestampHeader: '',
  username: '',
  windowSeconds: '',
  events: '',
  event: '',
  where: '',
  deduplicate: '',
  input: '',
  message: '',
  session: '',
};

const MEMBERS: Partial<Record<Scheme, readonly SignatureMember[]>> = {
  'standard-webhooks': ['windowSeconds'],
  stripe: ['windowSeconds'],
  slack: ['windowSeconds'],
  linear: ['windowSeconds'],
  hmac: ['header', 'algorithm', 'encoding', 'prefix', 'timestampHeader', 'windowSeconds'],
  token: ['header', 'prefix'],
  basic: ['username'],
};

function fromPoll({ url, connection = '', headers, everySeconds, cron, timeZone = '', items, from = 'now' }: Poll) {
  return {
    comes: 'poll' as const,
    url,
    connection,
    often: cron === undefined ? ('every' as const) : ('cron' as const),
    every: everySeconds === undefined ? NO_POLL.every : String(everySeconds / 60),
    cron: cron ?? '',
    timeZone,
    items: items === undefined || items === 'body' ? '' : items,
    from,
    headers: headers === undefined ? '' : JSON.stringify(headers, null, 2),
  };
}

function toPoll(draft: Draft): Poll {
  const headers = parseObject('The headers', draft.headers) as NonNullable<Poll['headers']>;
  const { connection, timeZone, items } = draft;
  return {
    url: draft.url.trim(),
    from: draft.from,
    ...(connection === '' ? {} : { connection }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(draft.often === 'every'
      ? { everySeconds: Math.round(Number(draft.every) * 60) }
      : { cron: draft.cron.trim(), ...(timeZone.trim() === '' ? {} : { timeZone: timeZone.trim() }) }),
    ...(items.trim() === '' ? {} : { items: items.trim() }),
  };
}

/** A prefix keeps the space at its end. */
function toMembers(draft: Draft): Omit<Signature, 'scheme'> {
  const given = membersOf(draft.scheme).filter((member) => draft[member] !== '');
  return Object.fromEntries(
    given.map((member) => [member, member === 'windowSeconds' ? Number(draft[member]) : draft[member]]),
  );
}

function toMapping({ kind, input, message, session }: Draft): NewTrigger['mapping'] {
  if (kind === 'workflow') return input.trim() === '' ? null : { input: parseJson('The input', input) };
  if (message.trim() === '' && session.trim() === '') return null;
  return {
    ...(message.trim() === '' ? {} : { message }),
    ...(session.trim() === '' ? {} : { session: session.trim() }),
  };
}

function orNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim();
}
