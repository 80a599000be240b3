import { checkMembers } from '../definition-checks.ts';

/** What a receiver can be notified of. */
export const NOTIFY_EVENTS = [
  'run.failed',
  'run.poisoned',
  'run.blocked',
  'run.waiting_for_code',
  'approval.asked',
] as const;
export type NotifyEvent = (typeof NOTIFY_EVENTS)[number];

/** Who is notified, over HTTP, of runs that stop and of approvals that are asked for. */
export interface NotifyReceiver {
  /** Where each message is posted: `https://ops.example.com/svc`, or `http:`. */
  url: string;
  /**
   * The name of the secret that signs the messages, set with `svc secrets set` or as an environment variable: 24 to 64
   * bytes in base64, with or without `whsec_` before it. Of several the first is the one in use, the others sign, too,
   * while the receiver moves to it.
   */
  secret: string | string[];
  /** Default: all. A run that is poisoned is `run.poisoned`, and not `run.failed`. */
  events?: NotifyEvent[];
  /** Names of workflows and agents whose runs these are. Default: all. */
  workflows?: string[];
  /** What lists, logs and figures call it, and its deliveries follow when the address changes. Default: the host of the address. */
  name?: string;
}

/** A receiver with all that may be left out. */
export interface Receiver {
  name: string;
  url: string;
  secrets: readonly string[];
  events: readonly NotifyEvent[];
  workflows: readonly string[] | undefined;
}

/** Throws a sentence when a part is wrong. */
export function checkNotify(receivers: unknown = []): void {
  if (!Array.isArray(receivers)) throw new TypeError('"notify" of svc.config.ts is no list of receivers.');
  receivers.forEach(checkReceiver);
  const names = toReceivers(receivers as NotifyReceiver[]).map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new TypeError(`"notify" has two receivers called "${twice}". Give each a "name" of its own.`);
}

export function toReceivers(receivers: readonly NotifyReceiver[] = []): Receiver[] {
  return receivers.map(({ url, secret, events = [...NOTIFY_EVENTS], workflows, name }) => ({
    name: name ?? new URL(url).host,
    url,
    secrets: typeof secret === 'string' ? [secret] : secret,
    events,
    workflows,
  }));
}

// --- internal ---

const MEMBERS = ['url', 'secret', 'events', 'workflows', 'name'];
const NAME = /^[\w.:[\]-]{1,100}$/;

function checkReceiver(given: unknown, index: number): void {
  const what = `"notify[${index}]"`;
  if (typeof given !== 'object' || given === null)
    throw new TypeError(
      `${what} is no receiver. Write: { url: 'https://ops.example.com/svc', secret: 'NOTIFY_SECRET' }.`,
    );
  checkMembers(`${what} of svc.config.ts`, given, MEMBERS);
  const { url, secret, events = [], workflows = [], name } = given as Partial<NotifyReceiver>;
  checkUrl(what, url);
  const secrets: unknown[] = Array.isArray(secret) ? secret : [secret];
  if (secrets.length === 0 || !secrets.every((one) => typeof one === 'string' && /^\w{1,200}$/.test(one)))
    throw new TypeError(
      `${what} has no "secret". Write the name of the secret that signs its messages, not its value.`,
    );
  const other = listOf(what, 'events', events).find((event) => !NOTIFY_EVENTS.some((known) => known === event));
  if (other !== undefined)
    throw new TypeError(`${what} has the event "${other}". The events are: ${NOTIFY_EVENTS.join(', ')}.`);
  listOf(what, 'workflows', workflows);
  if (name !== undefined && !NAME.test(String(name)))
    throw new TypeError(`${what} has the name "${String(name)}". Use up to 100 letters, digits, ".", "-" and "_".`);
}

function checkUrl(what: string, url: unknown): void {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    throw new TypeError(`${what} has the url "${String(url)}". Write an address, as in https://ops.example.com/svc.`);
  if (parsed.username !== '' || parsed.password !== '')
    throw new TypeError(`${what} has a user in its url. Messages are signed; the receiver checks the signature.`);
}

function listOf(what: string, member: string, list: unknown): string[] {
  if (Array.isArray(list) && list.every((item) => typeof item === 'string')) return list;
  throw new TypeError(`${what} has "${member}" that are no list of names.`);
}
