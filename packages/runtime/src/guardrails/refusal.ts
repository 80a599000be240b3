import { BoxError } from '../errors.ts';
import type { Found } from './text-stream.ts';

/** The rule, and what it found. */
type Refused = Pick<Found, 'reason'> & { rule: { id: string; name: string } };

type Code = 'agent_guardrail_blocked' | 'workflow_guardrail_blocked';

/** What is thrown for what a rule blocks before it begins. `what`: the rest of the sentence that the rule is named in. */
export function toRefusal(code: Code, what: string, { rule, reason }: Refused): Error {
  const details = { rule: rule.name, ruleId: rule.id, reason };
  // Another attempt of a step would be refused, too.
  return Object.assign(new BoxError(code, `The guardrail "${rule.name}" ${what}`, { details }), { fatal: true });
}

/** Throws that of what a rule has held and no one has let begin. `held`: what it is, in the middle of the sentence. */
export function requireApproved(
  { approved, timedOut }: { approved: boolean; timedOut: boolean },
  { code, held, by }: { code: Code; held: string; by: { rule: string; ruleId: string; reason: string | null } },
): void {
  if (approved) return;
  const why = timedOut ? 'no one has decided in time' : 'a person has rejected it';
  throw toRefusal(code, `holds ${held}, and ${why}.`, { rule: { id: by.ruleId, name: by.rule }, reason: by.reason });
}
