import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { withoutUndefined } from '../operations/inputs.ts';
import { requirePermission } from '../auth/caller.ts';
import { DraftRule, ROOM } from './inputs.ts';
import type { Guardrails } from './guardrails.ts';
import { judgeText } from './judge.ts';
import { judgeWritten } from './judge-json.ts';
import { toVerdict } from './recorded.ts';
import type { Verdict } from './recorded.ts';
import type { Place, Rule, RuleSet, SideRules } from './rules.ts';
import { Action, Side } from './store.ts';
import type { Found } from './text-stream.ts';
import type { TriedRun, WhichRuns } from './try-runs.ts';

const operation = operationsOf<{ guardrails: Guardrails }>();

const VerdictSchema = z.enum(['pass', 'mask', 'hold', 'block']);

/** What a rule finds in a dry run. */
export const Finding = z.object({
  ruleId: z.string().nullable().describe('Null: the rule that came with the request'),
  ruleName: z.string(),
  action: Action,
  count: z.int(),
  reason: z.string().nullable(),
  isApplied: z.boolean(),
});

const Tried = z.object({
  runId: z.uuid(),
  kind: z.enum(['workflow', 'agent']),
  name: z.string(),
  verdict: VerdictSchema,
  judged: z.int().describe('How many places of it were judged for this answer'),
  places: z
    .array(
      z.object({
        side: Side,
        step: z.int().nullable().describe('The number of the call in the run; null: what it was started with'),
        tools: z.array(z.string()).describe('Those that are called, or the one whose result it is'),
        verdict: VerdictSchema,
        hits: z.array(Finding),
      }),
    )
    .describe('Those where a rule has found something, in the order in which they are recorded'),
  problem: z.string().nullable().describe('Why the rest of it could not be read'),
});

const DryRun = z.object({
  verdict: VerdictSchema.describe('Of runs, the hardest'),
  rule: z.string().nullable().describe('The name of the rule that blocks or holds it'),
  text: z.string().nullable().describe('As it would go on; null: it would be blocked, or runs were tried'),
  hits: z.array(Finding).describe('Of runs, those of all their places together'),
  runs: z.array(Tried).describe('The runs that were tried, without any of their texts'),
  nextCursor: z.string().nullable().describe('Of runs: there is more to judge'),
});

const Runs = z
  .strictObject({
    kind: z.enum(['workflow', 'agent']).optional(),
    name: z.string().max(200).optional().describe('Agent or workflow name'),
    session: z.string().max(200).optional().describe('Session id'),
    from: z.iso.datetime({ offset: true }).optional().describe('Created then or later'),
    to: z.iso.datetime({ offset: true }).optional().describe('Created before then'),
  })
  .describe('Recorded runs, newest first, as {"name":"support"}');

const Input = z
  .strictObject({
    text: z.string().max(1_000_000).optional(),
    runId: z.string().max(200).optional().describe('What is recorded of this run, in place of a text'),
    runs: Runs.optional(),
    limit: z.coerce.number().int().min(1).max(50).optional().describe('How many of `runs` at most. Default: 20'),
    cursor: z.string().optional().describe('`nextCursor` of the answer before'),
    side: Side.optional().describe('What the text is. Default: `agent-output`. Of runs, this side alone'),
    agent: z.string().max(200).optional().describe('With the rules of this agent, besides those of the workspace'),
    workflow: z.string().max(200).optional().describe('With the rules of this workflow'),
    rule: DraftRule.optional().describe('Only this one. One that asks a model needs guardrails:write'),
  })
  .superRefine(({ text, runId, runs, limit, cursor, agent, workflow }, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if ([text, runId, runs].filter((one) => one !== undefined).length !== 1)
      refuse('text', 'Send one of "text", "runId" and "runs"');
    if (text !== undefined && cursor !== undefined) refuse('cursor', 'It is of runs, and a text has no pages');
    if (runs === undefined && limit !== undefined) refuse('limit', 'It is of "runs"');
    if (text === undefined && agent !== undefined) refuse('agent', 'It is of a text; name "runs" by theirs');
    if (text === undefined && workflow !== undefined) refuse('workflow', 'It is of a text; name "runs" by theirs');
  });
type Input = z.infer<typeof Input>;

export const testGuardrails = operation({
  ...ROOM,
  id: 'guardrails.test',
  summary: 'Try rules, or one that is not kept yet, on a text or on recorded runs; nothing is changed or recorded',
  route: 'POST /api/guardrails/test',
  cli: 'guardrails test',
  kind: 'read',
  permission: 'guardrails:read',
  errors: ['run_not_found', 'invalid_cursor'],
  input: Input,
  output: DryRun,
  async handle({ guardrails }, input, { signal, caller }) {
    const { text, side = 'agent-output', rule } = input;
    const which = toWhich(input);
    if (which) {
      requirePermission(caller, 'runs:read');
      const { runs, nextCursor } = await guardrails.tryRuns(which, {
        rules: await toRules(guardrails, input),
        caller,
        signal,
      });
      return toAnswer(runs, nextCursor);
    }
    const place = toPlace(input, side);
    const rules = rule ? guardrails.draft(side, place, rule) : (await guardrails.rules()).find(place, side);
    if (rules?.asksModel) requirePermission(caller, 'guardrails:write');
    const judged = rules ? await judgeAs(side)(rules, text ?? '', { signal }) : undefined;
    const { blocked, held, value = text ?? '', found = [] } = judged ?? {};
    return {
      verdict: blocked ? 'block' : held ? 'hold' : value === text ? 'pass' : 'mask',
      rule: (blocked ?? held)?.rule.name ?? null,
      text: blocked ? null : value,
      hits: found.map(toFinding),
      runs: [],
      nextCursor: null,
    } satisfies z.infer<typeof DryRun>;
  },
});

// --- internal ---

const RUNS = 20;

/** What is written in a turn may be JSON, and is judged as what it says. */
function judgeAs(side: Side): typeof judgeText {
  return side === 'workflow-input' || side === 'agent-input' ? judgeText : judgeWritten;
}

/** Undefined: a text is tried. */
function toWhich({ runId, runs, limit = RUNS, cursor }: Input): WhichRuns | undefined {
  if (runId !== undefined) return { runs: { runId }, cursor };
  if (!runs) return undefined;
  const { session, from, to, ...same } = runs;
  const times = { from: from && Date.parse(from), to: to && Date.parse(to) };
  return { runs: { filter: withoutUndefined({ ...same, sessionId: session, ...times }) as never, limit }, cursor };
}

function toPlace({ agent, workflow }: Input, side: Side): Place {
  return workflow !== undefined || (agent === undefined && side === 'workflow-input')
    ? { kind: 'workflow', name: workflow ?? '' }
    : { kind: 'agent', name: agent ?? '' };
}

/** Those in force, or the one that came along, on the sides that are asked about. */
async function toRules(guardrails: Guardrails, { side, rule }: Input): Promise<RuleSet> {
  if (!rule) {
    const all = await guardrails.rules();
    return { find: (place, asked) => (side === undefined || asked === side ? all.find(place, asked) : undefined) };
  }
  // Made once for each place: a check may have thousands of words.
  const drafts = new Map<string, SideRules | undefined>();
  return {
    find(place, asked) {
      if (side !== undefined && asked !== side) return undefined;
      const key = `${asked} ${place.kind} ${place.name}`;
      if (!drafts.has(key)) drafts.set(key, guardrails.draft(asked, place, rule));
      return drafts.get(key);
    },
  };
}

function toAnswer(runs: readonly TriedRun[], nextCursor: string | null): z.infer<typeof DryRun> {
  const found = runs.flatMap(({ places }) => places);
  const verdict = hardest(found.map((place) => place.verdict));
  const first = found.find((place) => place.verdict === verdict);
  return {
    verdict,
    rule: verdict === 'block' || verdict === 'hold' ? nameOf(first?.found ?? [], verdict) : null,
    text: null,
    hits: sumUp(found.flatMap((place) => place.found)).map(toFinding),
    runs: runs.map(({ run: { runId, kind, name }, judged, places, problem }) => ({
      runId,
      kind,
      name,
      verdict: hardest(places.map((place) => place.verdict)),
      judged,
      places: places.map(({ found: hits, ...place }) => ({ ...place, hits: hits.map(toFinding) })),
      problem,
    })),
    nextCursor,
  };
}

function hardest(verdicts: readonly Verdict[]): Verdict {
  return (['block', 'hold', 'mask'] as const).find((verdict) => verdicts.includes(verdict)) ?? 'pass';
}

/** A call that cannot wait is blocked by what would hold it. */
function nameOf(found: readonly Found[], verdict: 'block' | 'hold'): string | null {
  const by = (one: Verdict) => found.find((each) => toVerdict([each]) === one)?.rule.name;
  return by(verdict) ?? by('hold') ?? null;
}

/** One for each rule, with why it was found first. */
function sumUp(found: readonly Found[]): Found[] {
  const byRule = new Map<string, Found>();
  for (const one of found) {
    const key = `${one.rule.id} ${one.rule.action} ${one.isApplied}`;
    const known = byRule.get(key);
    byRule.set(key, known ? { ...known, count: known.count + one.count } : one);
  }
  return [...byRule.values()];
}

function toFinding({ rule, count, reason, isApplied }: Pick<Found, 'count' | 'reason' | 'isApplied'> & { rule: Rule }) {
  return { ruleId: rule.id || null, ruleName: rule.name, action: rule.action, count, reason, isApplied };
}
