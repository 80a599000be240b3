import { encode } from '../serialize.ts';
import { boundGiven, GIVEN_BYTES, isSurelyLarger, tooLargeGiven } from './size.ts';

/**
 * The text of what code or a caller hands over. Throws `payload_too_large`, of what is far too large before it is written.
 * @param what is what it is called in an error, and how its path begins
 */
export function encodeGiven(value: unknown, what: string, limit = GIVEN_BYTES): string {
  if (isSurelyLarger(value, limit)) throw tooLargeGiven({ value, what, limit });
  return boundGiven(encode(value, what), { value, what, limit });
}
