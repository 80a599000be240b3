import type { Caller } from '../auth/caller.ts';
import { BoxError } from '../errors.ts';
import type { Rooms } from '../rooms.ts';
import { parseWith } from '../schema/schema.ts';
import type { CallContext, Operation } from './define.ts';

/** The one door every surface goes through: permission, then schema, then handler. */
export async function callOperation(
  op: Operation,
  rooms: Rooms,
  input: unknown,
  context: CallContext,
): Promise<unknown> {
  checkPermission(op, context.caller);
  return op.handle(rooms, await parseInput(op, input), context);
}

/** The input as the handler takes it. Throws `invalid_request`. */
export async function parseInput(op: Operation, input: unknown): Promise<unknown> {
  const parsed = await parseWith(op.input, input);
  if (parsed.ok) return parsed.value;
  const [first] = parsed.issues;
  const place = first && first.path.length > 0 ? `"${first.path.join('.')}": ` : '';
  const message = `The request is not valid. ${place}${first?.message ?? 'It does not match'}.`;
  throw new BoxError('invalid_request', message, { details: { issues: parsed.issues } });
}

// --- internal ---

function checkPermission({ id, keys, permission }: Operation, caller: Caller): void {
  if (permission === 'none' || keys || caller.kind !== 'key') return;
  throw new BoxError('forbidden', `An API key may not call "${id}". It needs a person with "${permission}".`);
}
