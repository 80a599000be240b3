import { askedByOf } from '../../engine/box-marks.ts';
import type { RunRow } from '../../engine/journal/run.ts';
import type { Guardrails } from '../../guardrails/guardrails.ts';
import type { SideRules } from '../../guardrails/rules.ts';
import { toHeldBy } from '../../approvals/held-text.ts';
import { asBlocking, findOutputRules, withoutHolds } from '../../guardrails/rules.ts';
import { isOfCopilot } from '../../definitions/subagents.ts';
import type { Side } from '../../guardrails/store.ts';
import type { Found } from '../../guardrails/text-stream.ts';
import type { CallModel } from '../model/client.ts';
import type { ModelReply } from '../model/read-reply.ts';
import type { ReplyOptions } from '../model/reply.ts';
import { judgeWritten } from '../../guardrails/judge-json.ts';
import { toWithheld } from '../judge-input.ts';
import { createReplyFilter } from './reply-filter.ts';
import type { TurnInput } from './input.ts';
import type { RecordedAnswer, ToolAnswer } from './recorded-answer.ts';

/** The rules about what a turn says, calls and reads. */
export interface TurnGuard {
  /** Those in force. Throws `store_unavailable`: what cannot be asked does not let pass. */
  find(side: Side): Promise<SideRules | undefined>;
  /** Whether a call that a rule holds can wait in the inbox of the operators. */
  canHold: boolean;
  record(rules: SideRules, found: readonly Found[]): void;
}

export function createTurnGuard(
  guardrails: Pick<Guardrails, 'rules' | 'record'>,
  run: Pick<RunRow, 'name' | 'runId' | 'attributes'>,
  { resultOf }: Pick<TurnInput, 'resultOf'> = {},
): TurnGuard {
  const { name, runId } = run;
  const askedBy = askedByOf(run);
  return {
    // What the copilot waits for is for the person who asked it, and in no inbox.
    canHold: !isOfCopilot(name),
    async find(side) {
      const rules = await guardrails.rules();
      return side === 'agent-output'
        ? findOutputRules(rules, { name, resultOf })
        : rules.find({ kind: 'agent', name }, side);
    },
    record({ side, place }, found) {
      const own = found.filter(({ rule }) => !rule.for);
      guardrails.record(own, { side, place, runId, askedBy });
      for (const one of found) {
        const { for: above } = one.rule;
        if (above) guardrails.record([one], { side: above.side, place: above.place, runId, askedBy });
      }
    },
  };
}

/** Calls the model, and lets of its reply pass what the rules let pass: to readers, and into the record. */
export function withGuard(callModel: CallModel, guard: TurnGuard | undefined): CallModel {
  if (!guard) return callModel;
  return async (request, reply, signal) => {
    const output = toOutputRules(guard, reply, await guard.find('agent-output'));
    const call = await guard.find('tool-call');
    if (!output && !call) return callModel(request, reply, signal);
    // What a client runs goes to the client with the reply.
    const canHold = (tool: string) => guard.canHold && reply.executorOf(tool) === 'box';
    const filter = createReplyFilter({ output, call, canHold, signal }, reply.emit);
    const answered = await callModel(request, { ...reply, emit: filter.emit }, signal);
    const judged = await filter.settle();
    if (output) guard.record(output, judged.foundInOutput);
    if (call) guard.record(call, judged.foundInCalls);
    const { content, reasoning, held, blockedBy, heldOutput } = judged;
    const toolCalls = answered.toolCalls.map((one) => ({
      ...one,
      arguments: judged.calls.get(one.id) ?? one.arguments,
    }));
    if (heldOutput) {
      const { heldBy, ...text } = heldOutput;
      const rest = { ...heldBy, ...text, toolCalls, ...(held.length > 0 ? { held } : {}) };
      return { ...answered, content, reasoning, toolCalls: [], heldOutput: rest };
    }
    const kept: ModelReply = { ...answered, ...(output ? { content, reasoning } : {}), toolCalls };
    if (blockedBy === undefined) return held.length > 0 ? { ...kept, held } : kept;
    return { ...kept, content, reasoning, toolCalls: [], finishReason: 'content_filter', blockedBy };
  };
}

/** What the model reads of an answer of a tool, or that it waits. */
export async function guardResult(
  guard: TurnGuard | undefined,
  { tool, mayWait, signal }: { tool: string; mayWait: boolean; signal?: AbortSignal },
  answer: ToolAnswer,
): Promise<RecordedAnswer> {
  const found = await guard?.find('tool-result');
  if (!guard || !found) return answer;
  const rules = guard.canHold && mayWait ? found : asBlocking(found);
  const judged = await judgeWritten(rules, answer.content, { tool, signal });
  guard.record(rules, judged.found);
  if (judged.blocked) return { content: toWithheld(judged.blocked.rule.name), isError: true };
  const passed = { ...answer, content: judged.value };
  if (!judged.held) return passed;
  const heldBy = toHeldBy(judged.held);
  return {
    content: `The guardrail "${heldBy.rule}" holds this result.`,
    isError: false,
    held: { ...heldBy, ...passed },
  };
}

// --- internal ---

/** A placeholder for a masked text is never held. */
function toOutputRules(
  { canHold }: TurnGuard,
  { isSummary = false }: Pick<ReplyOptions, 'isSummary'>,
  rules: SideRules | undefined,
): SideRules | undefined {
  if (!rules) return undefined;
  if (isSummary) return withoutHolds(rules);
  return canHold ? rules : asBlocking(rules);
}
