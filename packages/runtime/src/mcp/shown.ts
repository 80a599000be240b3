import { BoxError } from '../errors.ts';
import { HIDDEN } from '../mask.ts';
import { listLost } from './confirmations.ts';
import type { MarkedCall } from './confirmations.ts';

/** What stands for a hidden value is none: stored, it would take the place of one. Throws `invalid_request`. */
export function requireShown({
  input,
  secret,
  operation: id,
}: Pick<MarkedCall, 'input' | 'secret' | 'operation'>): void {
  const [name] = listLost({ input, secret });
  if (name !== undefined)
    throw new BoxError(
      'invalid_request',
      `"${name}" of "${id}" is "${HIDDEN}", a placeholder for a value that is not shown. Send the value itself, or repeat the call with a requestState that is still good.`,
      { details: { param: name } },
    );
}
