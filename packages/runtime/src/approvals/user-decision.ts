import { may } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import type { Journal } from '../engine/journal.ts';
import type { Judged } from '../guardrails/findings.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import { judgeText, judgeValue } from '../guardrails/judge.ts';
import { toRefusal } from '../guardrails/refusal.ts';
import { asBlocking } from '../guardrails/rules.ts';
import type { SideRules } from '../guardrails/rules.ts';
import type { Decision } from './decision.ts';
import { isOfCall } from './tool-approval.ts';

export type DecisionGuardrails = Pick<Guardrails, 'rules' | 'record'>;

export interface DecisionSources {
  guardrails: DecisionGuardrails;
  journal: Pick<Journal, 'getRun'>;
}

/** What waits. */
interface Asked {
  asked: object;
  runId: string;
  isDecided: boolean;
}

/**
 * What a decision may say, as it may be recorded. An operator's says what it says. Of whoever else decides, as users do where the
 * agent leaves a call to them, edited arguments are judged as the model's are, and a note as what an agent is asked with; what
 * would be held is refused, as an operator has to decide it. Throws `agent_guardrail_blocked`, which names the rule, and
 * `store_unavailable`. Of what has been decided nothing is refused any more: the same again is compared as it was recorded.
 * `isFinal`: hits of what passes are recorded, too.
 */
export async function judgeDecision(
  { guardrails, journal }: DecisionSources,
  { asked, runId, isDecided }: Asked,
  decision: Decision,
  { who, isFinal }: { who: Caller; isFinal: boolean },
): Promise<Decision> {
  const saysNothing = (decision.input ?? null) === null && (decision.note ?? '') === '';
  if (may(who, 'hitl:decide') || saysNothing || !isOfCall(asked)) return decision;
  const { name: agent = asked.agent } = (await journal.getRun(runId)) ?? {};
  const waits = { tool: asked.tool, agent, runId, askedBy: (asked as { askedBy?: string }).askedBy };
  if (!isDecided) return judgeSaid(guardrails, waits, decision, isFinal);
  const rules = { rules: guardrails.rules, record() {} };
  return judgeSaid(rules, waits, decision, isFinal).catch(() => decision);
}

// --- internal ---

/** The call that waits. */
interface Waits {
  tool: string;
  /** As its run is named. */
  agent: string;
  runId: string;
  askedBy: string | undefined;
}

async function judgeSaid(
  guardrails: DecisionGuardrails,
  { tool, agent, runId, askedBy }: Waits,
  decision: Decision,
  isFinal: boolean,
): Promise<Decision> {
  const { input = null, note = '' } = decision;
  const all = await guardrails.rules();
  const place = { kind: 'agent', name: agent } as const;
  const judged = { ...decision };
  const pass = ({ side, place: where }: SideRules, what: string, { blocked, found }: Judged<unknown>): void => {
    if (blocked || isFinal) guardrails.record(found, { side, place: where, runId, askedBy });
    if (blocked)
      throw toRefusal(
        'agent_guardrail_blocked',
        `refuses ${what} of this decision about a call of "${tool}". Decide without what it looks for.`,
        blocked,
      );
  };
  const ofCall = input === null ? undefined : all.find(place, 'tool-call');
  if (ofCall) {
    const edited = await judgeValue(asBlocking(ofCall), input, { tool });
    pass(ofCall, 'the arguments', edited);
    judged.input = edited.value;
  }
  const ofInput = note === '' ? undefined : all.find(place, 'agent-input');
  if (ofInput) {
    const said = await judgeText(asBlocking(ofInput), note);
    pass(ofInput, 'the note', said);
    judged.note = said.value;
  }
  return judged;
}
