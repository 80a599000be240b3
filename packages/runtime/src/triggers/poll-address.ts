import { BoxError } from '../errors.ts';
import { findPrivate } from '../provider/egress.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import { policyToSet } from '../provider/given-address.ts';
import type { Poll } from './poll-settings.ts';

/**
 * Throws `trigger_invalid` for an address that a poll must not ask. A name is resolved; one that is not known yet is let be: it is
 * looked at again whenever it is asked.
 */
export async function requirePollAddress({ url: text }: Poll, egress: EgressPolicy): Promise<void> {
  // A path goes where its connection does.
  if (!URL.canParse(text)) return;
  const url = new URL(text);
  const refusal = await findPrivate(url, policyToSet(url, egress), { letsUnknown: true });
  if (refusal === undefined) return;
  const message = `${refusal}. List it in SVC_ALLOW_PRIVATE_EGRESS to let the box call it.`;
  throw new BoxError('trigger_invalid', message, { details: { param: 'poll' } });
}
