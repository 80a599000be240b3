import { toEventScope } from './events.ts';
import { digestOf } from './serialize.ts';
import type { StartedBy } from './started-by.ts';

/** What the tokens of those begin with that wait for events of the name and are of one owner: an application and its user, or the box. */
export function toOwnEventScope(name: string, owner: StartedBy | undefined): string {
  return `${toEventScope(name)}${toEventOwner(owner) ?? '-'}:`;
}

/** Who an event of an application reaches, as a part of a key. Undefined: of a person or the box, everyone. */
export function toEventOwner(owner: StartedBy | undefined): string | undefined {
  if (!owner || owner.client === null) return undefined;
  return digestOf(JSON.stringify([owner.client, owner.user?.id ?? null]));
}
