import type { TurnKey } from '../agents/turn/input.ts';
import { scopeOf } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { digestOfJson } from '../engine/values/digest.ts';
import { readIdempotencyKey } from '../operations/inputs.ts';

export interface KeyedRequest {
  headers: Headers;
  wire: string;
  caller: Caller;
  /** All that makes the request another one, as JSON. How it is answered does not. */
  asked: unknown;
}

/** The key under which a client may ask for the turn again. Undefined: it sends none. */
export function readTurnKey({ headers, wire, caller, asked }: KeyedRequest): TurnKey | undefined {
  const key = readIdempotencyKey(headers);
  if (key === undefined) return undefined;
  return { key, scope: [wire, scopeOf(caller)], digest: digestOfJson(JSON.stringify(asked)) };
}
