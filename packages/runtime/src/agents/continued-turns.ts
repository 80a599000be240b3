import { isOwnRun } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import { askedByOf } from '../engine/box-marks.ts';
import type { Journal } from '../engine/journal.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow } from '../engine/journal/run.ts';
import { decode } from '../engine/serialize.ts';
import { startedByOf } from '../engine/started-by.ts';
import { toChatMessage } from './model/messages.ts';
import type { ChatMessage } from './model/messages.ts';
import { readResults, toRecordedMessages } from './reading/recorded-messages.ts';
import { listTasks } from './reading/task-runs.ts';
import { resultIdOf } from './turn/ids.ts';
import type { TurnInput } from './turn/input.ts';
import type { TurnOutput } from './turn/options.ts';
import { isAnsweredApart } from './turn/run-task.ts';

/** What a client of a stateless turn sends back, with the run it names. */
export interface Continued<M extends ChatMessage> {
  agent: string;
  caller: Caller | undefined;
  askedBy?: string | undefined;
  runId: string;
  messages: readonly M[];
}

/**
 * The messages a client sends back after it has run its tools, with the calls that the box ran in between and that the
 * client was not shown: the model sees what it saw before. A run of another caller, or one that is gone, adds nothing.
 */
export async function restoreCalls<M extends ChatMessage>(
  journal: Pick<Journal, 'getRun' | 'getRecords' | 'listRuns'>,
  continued: Continued<M>,
): Promise<(M | ChatMessage)[]> {
  const { messages, runId } = continued;
  const run = await journal.getRun(runId);
  if (!run || !isContinuable(run, continued)) return [...messages];
  const kept = await readKept(journal, run);
  const groups = toGroups(kept, new Set(messages.flatMap(callIdsOf)));
  return messages.flatMap((message) => {
    const group = callIdsOf(message)
      .map((id) => groups.get(id))
      .find(Boolean);
    return group && message.role === 'assistant' ? restore(message, group) : [message];
  });
}

// --- internal ---

type Assistant = Extract<ChatMessage, { role: 'assistant' }>;

/** The rounds of the model that end with calls of the client: those before it held calls of the box alone. */
interface Group {
  before: ChatMessage[];
  last: Assistant;
  /** Of the calls of the box in the last round. */
  results: ChatMessage[];
}

function isContinuable(run: RunRow, { agent, caller, askedBy }: Continued<ChatMessage>): boolean {
  const isOwn = caller === undefined || isOwnRun(caller, startedByOf(run));
  return run.kind === 'agent' && run.name === agent && isOwn && askedByOf(run) === askedBy;
}

/** The whole conversation of a stateless turn as its model has seen it. */
async function readKept(
  journal: Pick<Journal, 'getRecords' | 'listRuns'>,
  { runId, input: recorded }: RunRow,
): Promise<ChatMessage[]> {
  const input = decode(recorded) as TurnInput;
  if (input.session) return [];
  const records = await journal.getRecords(runId);
  const messages = toRecordedMessages(runId, input, records).map(toChatMessage);
  // A box before recorded the answer of a sub-agent with the next call of the model; where the turn ended before, as its run's end.
  const known = readResults(records);
  const last = messages.findLast(({ role }) => role === 'assistant');
  if (!last || callIdsOf(last).every((id) => known.has(id))) return messages;
  const apart = new Set(records.flatMap(toStartedApart));
  const tasks = (await listTasks(journal, runId)).filter(({ run }) => !apart.has(run.runId));
  return [...messages, ...tasks.flatMap(({ run, callId }) => (known.has(callId) ? [] : toTaskResult(run, callId)))];
}

/** Of a task whose answer is recorded once the rules have let it pass: its run. */
function toStartedApart({ kind, event, stepId, output }: JournalRecord): string[] {
  if (kind !== 'child' || event !== 'done' || !stepId.startsWith('start ') || output === null) return [];
  const started = decode(output);
  return isAnsweredApart(started) ? [started.runId] : [];
}

function toTaskResult(run: RunRow, callId: string): (ChatMessage & { id: string })[] {
  if (run.status !== 'completed') return [];
  const { content } = decode(run.output ?? '') as TurnOutput;
  return [{ id: resultIdOf(callId), role: 'tool', content, tool_call_id: callId }];
}

/** By the ids of the calls the client was shown. */
function toGroups(kept: readonly ChatMessage[], shown: ReadonlySet<string>): Map<string, Group> {
  const groups = new Map<string, Group>();
  let before: ChatMessage[] = [];
  for (const [index, message] of kept.entries()) {
    const ids = callIdsOf(message);
    if (message.role === 'assistant' && ids.some((id) => shown.has(id))) {
      const results = resultsBehind(kept, index).filter(({ tool_call_id: id }) => !shown.has(id));
      const group = { before, last: message, results };
      for (const id of ids) groups.set(id, group);
      before = [];
    } else if (message.role === 'assistant' && ids.length > 0) before.push(message);
    else if (message.role === 'tool' && before.length > 0) before.push(message);
    else if (message.role !== 'tool') before = [];
  }
  return groups;
}

type ToolMessage = Extract<ChatMessage, { role: 'tool' }>;

function resultsBehind(kept: readonly ChatMessage[], index: number): ToolMessage[] {
  const results: ToolMessage[] = [];
  for (const message of kept.slice(index + 1)) {
    if (message.role !== 'tool') break;
    results.push(message);
  }
  return results;
}

/** The client's own calls are as it sends them: it may have left one out. */
function restore(message: Assistant, { before, last, results }: Group): ChatMessage[] {
  const sent = new Map((message.tool_calls ?? []).map((call) => [call.id, call]));
  const answered = new Set(results.map((result) => (result as ToolMessage).tool_call_id));
  const calls = (last.tool_calls ?? []).flatMap((call) =>
    answered.has(call.id) ? [call] : sent.has(call.id) ? [sent.get(call.id) ?? call] : [],
  );
  const shown = [...before.filter(({ role }) => role === 'assistant'), last].map(({ content }) => textOf(content));
  const isAsShown = withoutSpace(textOf(message.content)) === withoutSpace(shown.join(''));
  const rounds = isAsShown ? before : before.map(withoutText);
  return [
    ...rounds,
    { ...message, content: isAsShown ? last.content : message.content, tool_calls: calls },
    ...results,
  ];
}

/** What it said stands in the client's own message, which it has changed. */
function withoutText(message: ChatMessage): ChatMessage {
  return message.role === 'assistant' ? { ...message, content: null } : message;
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: unknown } | null) => (typeof part?.text === 'string' ? part.text : '')).join('');
}

/** The formats put the texts of several rounds together each in its way. */
function withoutSpace(text: string): string {
  return text.replaceAll(/\s+/g, '');
}

function callIdsOf(message: ChatMessage): string[] {
  return message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [];
}
