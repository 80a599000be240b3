import { z } from 'zod';
import { nextFire } from '../definitions/cron.ts';
import { BoxError } from '../errors.ts';
import { HIDDEN_HEADERS } from './request.ts';
import { explainPath } from './template.ts';

/** What a trigger asks for, and how often. */
export const Poll = z.strictObject({
  url: z
    .string()
    .min(1)
    .max(2_000)
    .describe('What is asked for with GET. With a connection also a path at its service, such as "/issues"'),
  connection: z.string().min(1).max(100).optional().describe('The connection whose credential it is asked with'),
  headers: z
    .record(
      z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'A header has letters, digits and "-"'),
      z.string().regex(/^[\u0020-\u007e]{1,500}$/, '1 to 500 characters of ASCII'),
    )
    .optional()
    .describe('What it is asked with besides, such as {"accept": "application/vnd.github+json"}; nothing secret'),
  everySeconds: z.int().min(30).max(2_592_000).optional().describe('From one poll to the next. Default: 300'),
  cron: z.string().min(9).max(200).optional().describe('In place of that: minute, hour, day, month, day of the week'),
  timeZone: z.string().min(1).max(100).optional().describe('Of the cron expression. Default: UTC'),
  items: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('Where the list is in the JSON of the answer: "body.data.issues". Default: "body", the answer itself'),
  from: z
    .enum(['now', 'all'])
    .optional()
    .describe('What the first poll finds: now (default): it is only noted; all: it is delivered like all that is new'),
});
export type Poll = z.infer<typeof Poll>;

/** With what was left out. Throws `trigger_invalid`, which names the member. */
export function toPoll(given: Poll): Poll {
  const { cron, timeZone, everySeconds, headers = {}, items = 'body' } = given;
  checkUrl(given);
  for (const name of Object.keys(headers)) checkHeader(name);
  if (Object.keys(headers).length > MOST_HEADERS) throw invalid(`A poll has at most ${MOST_HEADERS} headers.`);
  if (cron !== undefined && everySeconds !== undefined)
    throw invalid('A poll has "everySeconds" or "cron", and not both.');
  if (timeZone !== undefined && cron === undefined) throw invalid('"timeZone" is that of "cron", which is not there.');
  if (cron !== undefined) checkCron(cron, timeZone);
  const problem = explainPath(items);
  if (problem !== undefined || !/^body(?:[./]|$)/.test(items))
    throw invalid(`"items" is a place in the answer, and begins with "body", such as "body.data". It is "${items}".`);
  return {
    ...given,
    ...(cron === undefined ? { everySeconds: everySeconds ?? 300 } : {}),
    items,
    from: given.from ?? 'now',
  };
}

/** Whether another one asks for something else, so that what was seen says nothing of it. */
export function asksForOther(before: Poll, after: Poll): boolean {
  return before.url !== after.url || before.connection !== after.connection || before.items !== after.items;
}

/** Milliseconds until it is asked again after it was. */
export function nextPollIn({ cron, timeZone, everySeconds = 300 }: Poll, now: number): number {
  if (cron === undefined) return everySeconds * 1_000;
  // A clock that is a little behind must not come upon the same time once more.
  return nextFire(cron, timeZone ?? null, now + 1_000) - now;
}

// --- internal ---

const MOST_HEADERS = 10;
/** What the box says itself, or what lets someone in. */
const OWN_HEADERS = new Set([
  ...HIDDEN_HEADERS,
  'host',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'if-none-match',
  'if-modified-since',
  'accept-encoding',
]);

function checkUrl({ url: text, connection }: Poll): void {
  const isWhole = /^[a-z][a-z\d+.-]*:/i.test(text);
  // The connection says where that is, and goes nowhere else.
  if (connection !== undefined && !isWhole) return;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw invalid('"url" is no http or https address. A path alone needs a "connection".');
  if (url.username !== '' || url.password !== '')
    throw invalid('"url" carries credentials. Make a connection, and name it in "connection".');
  if (url.hash !== '') throw invalid('"url" has a fragment: leave out what follows the "#".');
}

function checkHeader(name: string): void {
  if (!OWN_HEADERS.has(name.toLowerCase())) return;
  throw invalid(`The header "${name}" is not for a poll to set: a connection has credentials, the box sets the rest.`);
}

function checkCron(cron: string, timeZone: string | undefined): void {
  try {
    Intl.DateTimeFormat('en', { timeZone: timeZone ?? 'UTC' });
  } catch {
    throw invalid(`There is no time zone "${timeZone}". One is called like "Europe/Berlin".`);
  }
  try {
    nextFire(cron, timeZone ?? null, Date.now());
  } catch (error) {
    throw invalid(`${(error as Error).message.replace(/\.$/, '')}.`);
  }
}

function invalid(message: string): BoxError {
  return new BoxError('trigger_invalid', message, { details: { param: 'poll' } });
}
