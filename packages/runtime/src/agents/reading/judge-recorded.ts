import type { Engine } from '../../engine/engine.ts';
import { pagesOf } from '../../engine/history-pages.ts';
import type { Journal } from '../../engine/journal.ts';
import type { JournalRecord } from '../../engine/journal/record.ts';
import type { RunRow } from '../../engine/journal/run.ts';
import { wholeRecord } from '../../engine/large-values.ts';
import { decode } from '../../engine/serialize.ts';
import { isOfCopilot } from '../../definitions/subagents.ts';
import { BoxError } from '../../errors.ts';
import { judgeValue } from '../../guardrails/judge.ts';
import { toVerdict } from '../../guardrails/recorded.ts';
import type { JudgedPlace, JudgedRecord, JudgeRecorded } from '../../guardrails/recorded.ts';
import { findOutputRules } from '../../guardrails/rules.ts';
import type { Place, RuleSet, SideRules } from '../../guardrails/rules.ts';
import type { Side } from '../../guardrails/store.ts';
import type { Found } from '../../guardrails/text-stream.ts';
import { toShownValue } from '../../json-value.ts';
import { createYielder } from '../../yielder.ts';
import { judgeTurnInput } from '../judge-input.ts';
import type { ToolCall } from '../model/messages.ts';
import type { ModelReply } from '../model/read-reply.ts';
import { guardResult } from '../turn/guard.ts';
import { joinHeld } from '../turn/held-reply.ts';
import type { ConversationMessage, TurnInput } from '../turn/input.ts';
import { createReplyFilter } from '../turn/reply-filter.ts';
import type { ReplyFilter } from '../turn/reply-filter.ts';
import type { RecordedAnswer } from '../turn/recorded-answer.ts';

export interface JudgeRecordedOptions {
  journal: Pick<Journal, 'listRecords'>;
  engine: Pick<Engine, 'whole'>;
}

/** Of a workflow, its input; of a turn, what it was asked, what the model said and called, and what tools answered. */
export function createJudgeRecorded({ journal, engine }: JudgeRecordedOptions): JudgeRecorded {
  return async function* judgeRecorded(run, { rules, from, signal }): AsyncGenerator<JudgedRecord, void> {
    // What the box itself runs asks no rule.
    if (run.name.startsWith('svc.')) return;
    const at: At = { rules, place: { kind: run.kind, name: run.name }, signal: signal ?? new AbortController().signal };
    if (run.kind === 'workflow') {
      if (from === 0) yield await judgeStart(at, await engine.whole(run.input));
      return;
    }
    const text = await engine.whole(run.input);
    const input = decode(text) as TurnInput;
    if (from === 0) yield { ...(await judgeAsked(at, run, input)), characters: text.length, next: 1 };
    const clientTools = new Set(input.tools.map(({ name }) => name));
    if (input.resultOf) at.resultOf = input.resultOf;
    const canHold = (tool: string) => !isOfCopilot(run.name) && !clientTools.has(tool);
    const list: Journal['listRecords'] = (runId, page) =>
      journal.listRecords(runId, { ...page, from: page.from + Math.max(0, from - 1) });
    for await (const page of pagesOf(run.runId, list, FIRST_RECORDS))
      for (const one of page) {
        if (one.event !== 'done' || one.output === null || (one.kind !== 'model' && one.kind !== 'tool')) continue;
        const record = await wholeRecord(engine, one);
        const places =
          record.kind === 'model' ? await judgeReply(at, record, canHold) : await judgeAnswer(at, record, canHold);
        const characters = (record.input?.length ?? 0) + (record.output?.length ?? 0);
        yield { places, characters, next: record.seq + 2 };
      }
  };
}

// --- internal ---

const FIRST_RECORDS = 8;
const PIECE = 16_384;

interface At {
  rules: RuleSet;
  place: Place;
  /** Of a turn, the call that it answers. */
  resultOf?: TurnInput['resultOf'];
  signal: AbortSignal;
}

async function judgeStart({ rules, place, signal }: At, text: string): Promise<JudgedRecord> {
  const side = rules.find(place, 'workflow-input');
  const places: JudgedPlace[] = [];
  if (side) {
    const { found } = await judgeValue(side, toShownValue(text), { signal });
    places.push(toPlace('workflow-input', null, found));
  }
  return { places, characters: text.length, next: 1 };
}

/** As it is judged before there is a turn: what is found is handed to what records it elsewhere. */
async function judgeAsked(
  { rules, place, signal }: At,
  run: RunRow,
  input: TurnInput,
): Promise<{ places: JudgedPlace[] }> {
  const found = new Map<Side, readonly Found[]>();
  const guardrails = {
    rules: () => rules,
    record: (each: readonly Found[], { side }: { side: Side }) => void found.set(side, each),
  };
  try {
    const asksModel = SIDES_ASKED.some((side) => rules.find(place, side)?.asksModel);
    await judgeTurnInput(
      guardrails,
      { name: place.name, runId: run.runId, signal },
      asksModel ? withLastTexts(input) : input,
    );
  } catch (error) {
    if (!(error instanceof BoxError) || error.code !== 'agent_guardrail_blocked') throw error;
  }
  const hasResults = input.messages.some(({ role }) => role === 'tool');
  const asked = SIDES_ASKED.filter((side) => rules.find(place, side) && (side === 'agent-input' || hasResults));
  return { places: asked.map((side) => toPlace(side, null, found.get(side) ?? [])) };
}

const SIDES_ASKED = ['agent-input', 'tool-result'] as const;

/** Texts of one conversation that a model is asked about, one after the other. */
const MOST_ASKED = 25;

/** The last of them alone: each is a call of a model. */
function withLastTexts(input: TurnInput): TurnInput {
  let left = MOST_ASKED;
  const messages: ConversationMessage[] = [];
  for (const message of input.messages.toReversed()) {
    if (left === 0) break;
    const { content } = message as { content: unknown };
    const kept: unknown = Array.isArray(content) ? content.slice(-left) : content;
    left -= Array.isArray(kept) ? Math.max(1, kept.length) : 1;
    messages.unshift({ ...message, content: kept } as ConversationMessage);
  }
  return { ...input, messages, system: left === 0 ? [] : input.system.slice(-left) };
}

async function judgeReply(
  { rules, place, resultOf, signal }: At,
  { call: step, output: text }: JournalRecord,
  canHold: (tool: string) => boolean,
): Promise<JudgedPlace[]> {
  const output = findOutputRules(rules, { name: place.name, resultOf });
  const call = rules.find(place, 'tool-call');
  if (!output && !call) return [];
  const recorded = decode(text ?? '') as ModelReply;
  // What was held back was said by the model, too.
  const { heldOutput } = recorded;
  const reply: ModelReply = heldOutput ? { ...recorded, ...heldOutput, ...joinHeld(recorded, heldOutput) } : recorded;
  const { content, reasoning, toolCalls } = reply;
  const filter = createReplyFilter({ output, call, canHold, signal }, () => {});
  await play(filter, reply);
  const { foundInOutput, foundInCalls, blockedBy } = await filter.settle();
  const isSaid = content !== '' || reasoning !== '';
  const called = toPlace('tool-call', step, foundInCalls, [...new Set(toolCalls.map(({ name }) => name))]);
  // A call that cannot wait is blocked.
  const isBlocked = called.verdict === 'hold' && blockedBy !== undefined;
  return [
    ...(output && isSaid ? toPlacesOfOutput(output, step, foundInOutput) : []),
    ...(call && toolCalls.length > 0 ? [isBlocked ? { ...called, verdict: 'block' as const } : called] : []),
  ];
}

/** The reply once more, as events. */
async function play(filter: ReplyFilter, { reasoning, content, toolCalls }: ModelReply): Promise<void> {
  const yielder = createYielder();
  for (const [kind, text] of [
    ['reasoning', reasoning],
    ['text', content],
  ] as const) {
    if (text === '') continue;
    filter.emit({ type: `${kind}.start`, id: kind });
    for (let from = 0; from < text.length; from += PIECE) {
      filter.emit({ type: `${kind}.delta`, id: kind, text: text.slice(from, from + PIECE) });
      await yielder.yieldIfDue();
    }
    filter.emit({ type: `${kind}.end`, id: kind });
  }
  for (const { id, name, arguments: args } of toolCalls) {
    filter.emit({ type: 'tool.start', callId: id, name, messageId: '', executor: 'box' });
    filter.emit({ type: 'tool.end', callId: id, args });
  }
}

async function judgeAnswer(
  { rules, place, signal }: At,
  { call: step, input, output }: JournalRecord,
  canHold: (tool: string) => boolean,
): Promise<JudgedPlace[]> {
  const side = rules.find(place, 'tool-result');
  if (!side || input === null || output === null) return [];
  const { name } = decode(input) as ToolCall;
  const recorded = decode(output) as RecordedAnswer;
  // Of what the box itself has said, or was decided before, no rule is asked.
  if (recorded.by !== undefined) return [];
  const answer = recorded.held ?? recorded;
  let found: readonly Found[] = [];
  const guard = {
    find: async () => side,
    canHold: canHold(name),
    record: (_: unknown, each: readonly Found[]) => void (found = each),
  };
  await guardResult(guard, { tool: name, mayWait: true, signal }, answer);
  return [toPlace('tool-result', step, found, [name])];
}

/** What the turn above masks of it is found on the side of that. */
function toPlacesOfOutput({ all }: SideRules, step: number | null, found: readonly Found[]): JudgedPlace[] {
  const [above] = all.flatMap(({ for: judged }) => judged ?? []);
  const own = found.filter(({ rule }) => !rule.for);
  const others = found.filter(({ rule }) => rule.for);
  return [
    ...(all.some((rule) => !rule.for) ? [toPlace('agent-output', step, own)] : []),
    ...(above ? [toPlace(above.side, step, others, [above.tool])] : []),
  ];
}

function toPlace(side: Side, step: number | null, found: readonly Found[], tools: string[] = []): JudgedPlace {
  return { side, step, tools, verdict: toVerdict(found), found };
}
