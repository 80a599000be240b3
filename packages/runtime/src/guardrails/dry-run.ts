import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { requirePermission } from '../auth/caller.ts';
import { BoxError } from '../errors.ts';
import type { Judged } from './findings.ts';
import { DraftRule, listClashes, ROOM } from './inputs.ts';
import type { Guardrails } from './guardrails.ts';
import { judgeText } from './judge.ts';
import type { Place, SideRules } from './rules.ts';
import { Action, Side } from './store.ts';

const operation = operationsOf<{ guardrails: Guardrails }>();

const DryRun = z.object({
  verdict: z.enum(['pass', 'mask', 'hold', 'block']),
  rule: z.string().nullable().describe('The name of the rule that blocks or holds it'),
  text: z.string().nullable().describe('As it would go on; null: it would be blocked'),
  hits: z.array(
    z.object({
      ruleId: z.string().nullable().describe('Null: the rule that came with the request'),
      ruleName: z.string(),
      action: Action,
      count: z.int(),
      reason: z.string().nullable(),
      isApplied: z.boolean(),
    }),
  ),
});

export const testGuardrails = operation({
  ...ROOM,
  id: 'guardrails.test',
  summary: 'Try rules, or one that is not kept yet, on a text; nothing is changed or recorded',
  route: 'POST /api/guardrails/test',
  cli: 'guardrails test',
  kind: 'read',
  permission: 'guardrails:read',
  input: z.strictObject({
    text: z.string().max(1_000_000),
    side: Side.default('agent-output'),
    agent: z.string().max(200).optional().describe('With the rules of this agent, besides those of the workspace'),
    workflow: z.string().max(200).optional().describe('With the rules of this workflow'),
    rule: DraftRule.optional().describe('Only this one. One that asks a model needs guardrails:write'),
  }),
  output: DryRun,
  async handle({ guardrails }, { text, side, agent, workflow, rule }, { signal, caller }) {
    const place: Place =
      workflow !== undefined || (agent === undefined && side === 'workflow-input')
        ? { kind: 'workflow', name: workflow ?? '' }
        : { kind: 'agent', name: agent ?? '' };
    const [clash] = rule ? listClashes(rule) : [];
    if (clash !== undefined) throw new BoxError('invalid_request', `${clash}.`, { details: { param: 'rule.action' } });
    const rules = rule ? guardrails.draft(side, place, rule) : (await guardrails.rules()).find(place, side);
    if (rules?.asksModel) requirePermission(caller, 'guardrails:write');
    return toDryRun(text, rules ? await judgeText(rules, text, { signal }) : undefined, rules);
  },
});

// --- internal ---

function toDryRun(text: string, judged: Judged<string> | undefined, rules: SideRules | undefined) {
  if (!judged || !rules) return { verdict: 'pass' as const, rule: null, text, hits: [] };
  const { blocked, held, value, found } = judged;
  return {
    verdict: toVerdict(judged, text),
    rule: (blocked ?? held)?.rule.name ?? null,
    text: blocked ? null : value,
    hits: found.map(({ rule, count, reason, isApplied }) => ({
      ruleId: rule.id || null,
      ruleName: rule.name,
      action: rule.action,
      count,
      reason,
      isApplied,
    })),
  };
}

function toVerdict({ blocked, held, value }: Judged<string>, text: string) {
  if (blocked) return 'block' as const;
  if (held) return 'hold' as const;
  return value === text ? ('pass' as const) : ('mask' as const);
}
