import type { JournalRecord } from '../../engine/journal/record.ts';
import type { RunRow } from '../../engine/journal/run.ts';
import { decode } from '../../engine/serialize.ts';
import { NO_USAGE } from '../events/turn-events.ts';
import type { Emit, Interrupt, TurnEvent, Usage } from '../events/turn-events.ts';
import { isWithdrawn, toErrorEvent } from '../events/turn-errors.ts';
import type { ModelReply } from '../model/read-reply.ts';
import type { CheckedOutput } from '../turn/output.ts';
import { readReplies, readResults } from './recorded-messages.ts';
import { createReplyParts } from '../model/reply.ts';
import { resultIdOf } from '../turn/ids.ts';
import type { TurnInput } from '../turn/input.ts';
import type { AgentState } from '../../tools/state.ts';
import { messageIdOf } from '../turn/ids.ts';
import type { TurnOutput } from '../turn/options.ts';
import { addUsage } from '../events/usage.ts';

/** A turn as the box has kept it so far. */
export interface KeptTurn {
  run: RunRow;
  /** It has neither ended nor waited for an approval. */
  isUnderWay: boolean;
  input: TurnInput;
  records: readonly JournalRecord[];
  /** The calls it first waited with, decided or not. */
  interrupts: readonly Interrupt[];
  /** The answer had to fit a schema, and its text was emitted once it did. */
  isChecked: boolean;
  /** What the agent keeps, where the conversation is kept. */
  state: AgentState;
}

/**
 * What the turn emitted for its client, after `turn.start`: up to its end, to where it first waited for an approval, or to
 * what is recorded of it. Each text comes at once; of a model call that failed nothing is recorded, and nothing comes.
 */
export function replayTurn(turn: KeptTurn): TurnEvent[] {
  const { run, input, records, state } = turn;
  const events: TurnEvent[] = [];
  const emit: Emit = (event) => void events.push(event);
  const checks = readChecks(records);
  const results = readResults(records);
  const replies = readReplies(input, records);
  let usage: Usage = NO_USAGE;
  const begun = turn.interrupts.filter(({ step }) => step === 0);
  for (const interrupt of begun) emit({ type: 'interrupt', ...interrupt });
  if (begun.length > 0) return [...events, { type: 'finish', reason: 'interrupt' }];
  for (const [index, reply] of replies.entries()) {
    const step = index + 1;
    const messageId = messageIdOf(run.runId, step);
    emit({ type: 'step.start', step });
    const isHidden = turn.isChecked;
    emitReply(isHidden ? { ...reply, content: '' } : reply, { input, messageId, emit });
    usage = addUsage(usage, reply.usage);
    emit({ type: 'usage', model: input.model, ...usage });
    const checked = isHidden && reply.toolCalls.length === 0 ? checks.shift() : undefined;
    if (checked?.ok) emitText(checked.text, { input, messageId, emit });
    const waiting = turn.interrupts.filter(({ callId, step: of }) => of === step || isOf(callId, reply));
    for (const interrupt of waiting) emit({ type: 'interrupt', ...interrupt });
    for (const [callId, result] of results)
      if (isOf(callId, reply) && !waiting.some((interrupt) => interrupt.callId === callId))
        emit({ type: 'tool.result', callId, messageId: resultIdOf(callId), ...result });
    if (waiting.length > 0) return [...events, { type: 'finish', reason: 'interrupt' }];
    // What comes of its calls, or of the check of its answer, may not be recorded yet.
    if (turn.isUnderWay && step === replies.length) return events;
    const stopped = step === replies.length ? toStopText(run, reply) : undefined;
    if (stopped !== undefined) emitText(stopped, { input, messageId: messageIdOf(run.runId, step + 1), emit });
    emit({ type: 'step.end', step });
  }
  if (turn.isUnderWay) return events;
  if (Object.keys(state).length > 0) emit({ type: 'state', snapshot: { ...state } });
  return [...events, toEndEvent(run)];
}

/** The end of a run as its reader has it. */
export function toEndEvent(run: RunRow | undefined): TurnEvent {
  if (run?.status === 'completed') return { type: 'finish', reason: outputOf(run).finishReason };
  const error = run?.error == null ? new Error('The turn is gone.') : decode(run.error);
  // One that could not begin is cancelled, too.
  return run?.status === 'cancelled' && isWithdrawn(error)
    ? { type: 'finish', reason: 'cancelled' }
    : toErrorEvent(error);
}

// --- internal ---

interface Target {
  input: TurnInput;
  messageId: string;
  emit: Emit;
}

function emitReply({ reasoning, content, toolCalls }: ReplyText, { input, messageId, emit }: Target): void {
  const executorOf = (name: string) => (input.tools.some((tool) => tool.name === name) ? 'client' : 'box');
  const parts = createReplyParts({ emit, messageId, executorOf, uniqueId: (id) => id });
  if (reasoning !== '') parts.reasoning(reasoning);
  if (content !== '') parts.text(content);
  for (const [index, { id, name, arguments: args }] of toolCalls.entries())
    parts.tool({ index, id, function: { name, arguments: args } });
  parts.close();
}

type ReplyText = Pick<ModelReply, 'reasoning' | 'content' | 'toolCalls'>;

function isOf(callId: string | undefined, { toolCalls }: ModelReply): boolean {
  return toolCalls.some(({ id }) => id === callId);
}

function emitText(content: string, target: Target): void {
  emitReply({ reasoning: '', content, toolCalls: [] }, target);
}

/** The checks of answers, in the order of the answers. */
function readChecks(records: readonly JournalRecord[]): CheckedOutput[] {
  return records
    .filter(({ kind, stepId, event }) => kind === 'step' && stepId === 'output' && event === 'done')
    .map(({ output }) => decode(output ?? '') as CheckedOutput);
}

/** What a turn said that had used up its steps: its last reply asked for tools of the box. */
function toStopText(run: RunRow, last: ModelReply): string | undefined {
  if (run.status !== 'completed' || last.toolCalls.length === 0) return undefined;
  const { content, finishReason } = outputOf(run);
  return finishReason === 'stop' ? content : undefined;
}

function outputOf({ output }: RunRow): TurnOutput {
  return decode(output ?? '') as TurnOutput;
}
