import { z } from 'zod';

const most = (value: number) => z.int().min(1).max(value).nullable().optional();

/** What a key, a user or an agent may use. Whatever is absent, or null, has no limit. */
export const Limits = z.strictObject({
  requestsPerMinute: most(1_000_000).describe('Requests in any 60 seconds'),
  concurrentTurns: most(100_000).describe('Turns of agents under way at once'),
  tokensPerDay: most(1_000_000_000_000).describe('Tokens of models in a day of UTC, input and output'),
  tokensPerMonth: most(1_000_000_000_000).describe('The same in a calendar month of UTC'),
});
export type Limits = z.infer<typeof Limits>;

/** Of a key: its own, and those of each of its users. */
export const KeyLimits = Limits.extend({
  users: Limits.nullable()
    .optional()
    .describe('The same for each user it speaks for, over all keys of its client. The newest of those keys says them'),
});
export type KeyLimits = z.infer<typeof KeyLimits>;

/** What usage of an agent, of a key, and of a user of a client is counted by. It has no space. */
export const whoOfAgent = (name: string): string => toWho({ kind: 'agent', id: name });
export const whoOfModel = (id: string): string => toWho({ kind: 'model', id });
export const whoOfKey = (id: string): string => toWho({ kind: 'key', id });

export interface Who {
  kind: 'agent' | 'key' | 'user' | 'model';
  /** The name of the agent, the id of the key or the model; of a user `shop/ada`, as `readUserId` reads it. */
  id: string;
}

export function toWho({ kind, id }: Who): string {
  return `${kind}:${id}`;
}

/** What was counted so. */
export function readWho(who: string): Who {
  const at = who.indexOf(':');
  return { kind: who.slice(0, at) as Who['kind'], id: who.slice(at + 1) };
}

/** The client, and what it calls its user. */
export function readUserId(id: string): { client: string; user: string } {
  const at = id.indexOf('/');
  return { client: fromPart(id.slice(0, at)), user: fromPart(id.slice(at + 1)) };
}

/** One that has limits. */
export interface Limited {
  /** `agent:support`, `key:01m2n8p4`, `user:shop/ada`: what it is counted by, on all replicas. */
  id: string;
  /** As a message begins: `The agent "support"`. */
  name: string;
  limits: Limits;
}

export function toLimitedUser(client: string, user: string, limits: Limits): Limited {
  return {
    id: toWho({ kind: 'user', id: `${toPart(client)}/${toPart(user)}` }),
    name: `The user "${user}" of "${client}"`,
    limits,
  };
}

/** Throws a sentence that begins with `what` when it has a member there is not, or a number out of range. */
export function checkLimits(what: string, given: unknown): void {
  const { error } = Limits.safeParse(given);
  const [issue] = error?.issues ?? [];
  if (!issue) return;
  const where = issue.path.length > 0 ? `${what}.${issue.path.join('.')}` : what;
  throw new TypeError(`"${where}" is wrong: ${issue.message}. The limits are ${Object.keys(Limits.shape).join(', ')}.`);
}

// --- internal ---

const toPart = (text: string): string => text.replace(/[%/ ]/g, (one) => encodeURIComponent(one));
const fromPart = (text: string): string => text.replace(/%(?:25|2F|20)/g, (one) => decodeURIComponent(one));
