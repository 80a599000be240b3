import { BoxError } from '../errors.ts';
import type { Rooms } from '../rooms.ts';
import { parseWith } from '../schema/schema.ts';
import type { CallContext, Operation } from './define.ts';

/** The one door every surface goes through: schema, then handler. */
export async function callOperation(
  op: Operation,
  rooms: Rooms,
  input: unknown,
  context: CallContext,
): Promise<unknown> {
  const parsed = await parseWith(op.input, input);
  if (!parsed.ok) {
    const [first] = parsed.issues;
    const place = first && first.path.length > 0 ? `"${first.path.join('.')}": ` : '';
    throw new BoxError(
      'invalid_request',
      `The request is not valid. ${place}${first?.message ?? 'It does not match'}.`,
      {
        details: { issues: parsed.issues },
      },
    );
  }
  return op.handle(rooms, parsed.value, context);
}
