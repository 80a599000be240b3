import { BoxError } from '../errors.ts';
import type { Found } from './text-stream.ts';

/** The rule, and what it found. */
type Refused = Pick<Found, 'reason'> & { rule: { id: string; name: string } };

/** What is thrown for what a rule blocks before it begins. `what`: the rest of the sentence that the rule is named in. */
export function toRefusal(
  code: 'agent_guardrail_blocked' | 'workflow_guardrail_blocked',
  what: string,
  { rule, reason }: Refused,
): Error {
  const details = { rule: rule.name, ruleId: rule.id, reason };
  // Another attempt of a step would be refused, too.
  return Object.assign(new BoxError(code, `The guardrail "${rule.name}" ${what}`, { details }), { fatal: true });
}
