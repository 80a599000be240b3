import type { RunAction } from '../../engine/call.ts';
import { parseDuration } from '../../engine/duration.ts';
import type { RunHandle } from '../../engine/handle.ts';
import { bodyOf } from '../../engine/primitives/hook.ts';
import type { StepKind } from '../../engine/journal/record.ts';
import { encode } from '../../engine/serialize.ts';
import { ONCE } from '../../engine/primitives/step.ts';
import type { Emit, FinishReason, Interrupt, TurnEvent, Usage } from '../events/turn-events.ts';
import { NO_USAGE } from '../events/turn-events.ts';
import { isWithdrawn, LET_GO } from '../events/turn-errors.ts';
import { COMPACT, compact, repeatSummaries, toNote, toPast } from './compaction.ts';
import type { Past, SummaryPlace, SummaryRequest } from './compaction.ts';
import { compactionLimit, estimateTokens } from './context-size.ts';
import type { ContextOptions } from './context-size.ts';
import type { ChatMessage } from '../model/messages.ts';
import { pairToolCalls, toAssistantMessage } from '../model/messages.ts';
import type { CallModel, ModelReply } from '../model/client.ts';
import { askAndRun, needsPerson } from './approval.ts';
import { outputInvalid, toRepair } from './output.ts';
import type { CheckedOutput, OutputRule } from './output.ts';
import type { ModelPlace } from '../reading/recorded-messages.ts';
import { createReplyParts } from '../model/reply.ts';
import type { UntilTaken } from '../model/reply.ts';
import { runCall } from './run-call.ts';
import { withoutForcedCall } from './tool-choice.ts';
import type { Toolset } from '../../tools/toolset.ts';
import type { ConversationMessage, ConversationSummary, TurnInput } from './input.ts';
import type { TurnState } from '../../tools/state.ts';
import { addUsage, toTokens } from '../events/usage.ts';

export interface TurnOptions {
  agent: {
    name: string;
    maxSteps?: number | undefined;
    timeout?: number | string | undefined;
    context?: ContextOptions | undefined;
  };
  input: TurnInput;
  /** The agent's own instructions, before the client's. */
  instructions: string | undefined;
  /** What the conversation was before this turn. */
  history: readonly ConversationMessage[];
  /** Of the first of them. */
  summary?: ConversationSummary | undefined;
  /** The model calls an earlier life of the turn has made. */
  asked?: readonly ModelPlace[];
  state: TurnState;
  toolset: Toolset;
  callModel: CallModel;
  emit: Emit;
  /** Waits for readers the turn is not to run ahead of. */
  untilTaken?: UntilTaken;
  /** The answer is JSON of this kind. Absent: any text. */
  output?: OutputRule;
  /** Keeps what the turn added. Repeated after a crash: it must do nothing the second time. */
  save?(added: TurnAdded): Promise<void>;
}

export interface TurnAdded {
  messages: ConversationMessage[];
  state: TurnState;
  usage: Usage;
  /** Where this turn made one. */
  summary?: ConversationSummary;
}

/** What the run records as its output. */
export interface TurnOutput {
  content: string;
  finishReason: FinishReason;
  steps: number;
  /** The answer by its schema, where it has one. */
  output?: unknown;
}

const DEFAULT_MAX_STEPS = 40;

/**
 * One turn: call the model, run the tools it asks for, again until it answers, asks for a tool of the client, or the
 * step budget is used up. Runs as the body of a run: each model call and each tool call is a recorded step. A tool
 * that needs a person waits on a hook, in this process or the next.
 */
export async function runTurn(options: TurnOptions): Promise<TurnOutput> {
  const turn = new Turn(options);
  turn.begin();
  const maxSteps = options.agent.maxSteps ?? DEFAULT_MAX_STEPS;
  for (let step = 1; step <= maxSteps; step++) {
    const reply = await turn.callModel(step);
    const isAnswer = reply.toolCalls.length === 0;
    if (isAnswer && !options.output) return turn.end(reply.content, toFinishReason(reply.finishReason), step);
    if (isAnswer && options.output) {
      const checked = await turn.checkOutput(reply, options.output);
      if (checked.ok)
        return turn.end(checked.text, toFinishReason(reply.finishReason), step, { output: checked.value });
    }
    const isForClient = !isAnswer && (await turn.runTools(reply));
    if (isForClient) return turn.end(reply.content, toCallReason(reply.finishReason), step);
    if (step < maxSteps) turn.tell({ type: 'step.end', step });
  }
  return turn.stop(maxSteps);
}

/** The id of the n-th message, from 1, that a turn makes. */
export function messageIdOf(runId: string, n: number): string {
  return `msg_${runId.replaceAll('-', '')}_${n}`;
}

/** One turn while it runs. */
export class Turn {
  readonly options: TurnOptions;
  readonly execution: RunHandle;
  /** What the model is shown. */
  #messages: ChatMessage[];
  #past: Past;
  #mayCompact = true;
  #modelCalls = 0;
  /** What the conversation gets. */
  readonly #added: ConversationMessage[];
  readonly #callIds: Set<string>;
  #state: TurnState;
  #usage = NO_USAGE;
  #replies = 0;
  /** Calls a person has not decided about. */
  #undecided = 0;
  #repairs = 0;
  /** How many of the messages the journal has. */
  #told: number;

  constructor(options: TurnOptions) {
    const { input, history, summary } = options;
    this.options = options;
    this.execution = bodyOf('runTurn');
    this.#added = [...input.messages];
    this.#past = toPast(history, summary);
    this.#messages = this.#toMessages();
    this.#told = this.#messages.length;
    this.#callIds = new Set([...history, ...input.messages].flatMap(callIdsOf));
    this.#state = options.state;
  }

  /** Says what happened, unless it is a replay of what has been said. */
  tell(event: TurnEvent): void {
    if (!this.execution.isReplaying) this.options.emit(event);
  }

  begin(): void {
    const { runId, sessionId, createdAt: startedAt } = this.execution.run;
    this.tell({ type: 'turn.start', turnId: runId, runId, sessionId, agent: this.options.agent.name, startedAt });
  }

  async callModel(step: number): Promise<ModelReply> {
    const { input, toolset, output } = this.options;
    this.tell({ type: 'step.start', step });
    await this.#makeRoom();
    const { timeout } = this.options.agent;
    const request = {
      model: input.model,
      messages: [...this.#messages],
      tools: toolset.model,
      parameters: step === 1 ? input.parameters : withoutForcedCall(input.parameters),
      ...(output ? { outputSchema: output.schema } : {}),
      ...(timeout === undefined ? {} : { timeout: parseDuration(timeout) }),
    };
    const from = this.#told - (this.#messages[0]?.role === 'system' ? 1 : 0);
    const recorded = { model: input.model, from, messages: this.#messages.slice(this.#told) };
    this.#modelCalls += 1;
    const reply = (await this.invoke('model', input.model, recorded, {
      name: 'model',
      run: ({ signal }) => {
        if (step === 1) this.#tellIfLetGo(signal);
        return this.options.callModel(request, this.#replyOptions(), signal);
      },
      tokensOf: (answer) => toTokens((answer as ModelReply).usage),
    })) as ModelReply;
    this.#told = this.#messages.length;
    this.#usage = addUsage(this.#usage, reply.usage);
    this.tell({ type: 'usage', model: input.model, ...this.#usage });
    this.#add(withReasoning(toAssistantMessage(reply, this.#nextMessageId()), reply));
    return reply;
  }

  /** Checks an answer, and tells it when it fits. One that does not is asked for again, once. */
  async checkOutput({ content }: ModelReply, rule: OutputRule): Promise<CheckedOutput> {
    const run = () => rule.check(content);
    const checked = (await this.invoke('step', 'output', { content }, { name: 'output', run })) as CheckedOutput;
    const messageId = this.#added.at(-1)?.id ?? '';
    if (checked.ok) this.#tellText(messageId, checked.text);
    else if (this.#repairs > 0) throw outputInvalid(this.options.agent.name, checked.issues);
    else this.#add({ id: `${messageId}-repair`, role: 'user', content: toRepair(checked.issues) });
    if (!checked.ok) this.#repairs += 1;
    return checked;
  }

  /** True: the client is to run what is left. */
  async runTools({ toolCalls }: ModelReply): Promise<boolean> {
    const { toolset, save } = this.options;
    const own = toolCalls.filter(({ name }) => toolset.executorOf(name) === 'box');
    const isForClient = own.length < toolCalls.length;
    // Without a session the answers of the box's own tools would be lost: the client brings back its own only.
    const runs = isForClient && !save ? [] : own;
    const isAsked = runs.map((call) => needsPerson(this, call));
    const answers = runs.map((call, index) => (isAsked[index] ? askAndRun(this, call) : runCall(this, call)));
    if (isAsked.includes(true)) this.#pauseAfter(answers.filter((_, index) => !isAsked[index]));
    for (const answer of await Promise.all(answers)) this.#add(answer);
    return isForClient;
  }

  get state(): TurnState {
    return this.#state;
  }

  set state(state: TurnState) {
    this.#state = state;
    this.tell({ type: 'state', snapshot: { ...state } });
  }

  /** The step budget is used up. */
  stop(steps: number): Promise<TurnOutput> {
    const content = `The turn stopped after ${steps} steps.`;
    if (this.options.output) throw outputInvalid(this.options.agent.name, content);
    const messageId = this.#nextMessageId();
    this.#tellText(messageId, content);
    this.#add({ id: messageId, role: 'assistant', content });
    return this.end(content, 'stop', steps);
  }

  async end(
    content: string,
    finishReason: FinishReason,
    steps: number,
    more: Pick<TurnOutput, 'output'> = {},
  ): Promise<TurnOutput> {
    this.tell({ type: 'step.end', step: steps });
    const { save } = this.options;
    const { summary } = this.#past;
    const isNew = summary !== undefined && summary !== this.options.summary;
    const added = { messages: this.#added, state: this.#state, usage: this.#usage, ...(isNew ? { summary } : {}) };
    if (save)
      await this.invoke(
        'step',
        'session',
        { messages: added.messages.length },
        { name: 'session', run: () => save(added) },
      );
    return { content, finishReason, steps, ...more };
  }

  invoke(
    kind: StepKind,
    stepId: string,
    input: unknown,
    action: Pick<RunAction, 'name' | 'run' | 'tokensOf'>,
  ): Promise<unknown> {
    return this.execution.invoke({
      kind,
      stepId,
      input: encode(input, 'input'),
      action: { type: 'run', policy: ONCE, ...action },
    });
  }

  /** A call waits for a person. */
  interrupt(interrupt: Interrupt): void {
    this.tell({ type: 'interrupt', ...interrupt });
    this.#undecided += 1;
  }

  /** A person has decided about a call. */
  decided(): void {
    this.#undecided -= 1;
  }

  /** Ends the answer to the client once the calls that nobody decides about are done. */
  #pauseAfter(others: readonly Promise<unknown>[]): void {
    Promise.all(others).then(
      () => this.#undecided > 0 && this.tell({ type: 'finish', reason: 'interrupt' }),
      // A call never fails; a run that is let go does.
      () => {},
    );
  }

  #toMessages(): ChatMessage[] {
    const { input, instructions } = this.options;
    const system = [instructions, ...input.system, toNote(this.#past)].filter(Boolean).join('\n\n');
    const conversation = pairToolCalls([...this.#past.messages, ...this.#added]);
    return system === '' ? conversation : [{ role: 'system', content: system }, ...conversation];
  }

  /** Summarises older turns where the model would be shown too much. Without a summary it is shown all there is. */
  async #makeRoom(): Promise<void> {
    if (!this.#mayCompact || this.#past.messages.length === 0) return;
    const { agent, toolset, asked = [] } = this.options;
    const summarise = (request: SummaryRequest) => this.#summarise(request);
    this.#begin(await repeatSummaries(this.#past, this.#madeNext(), summarise));
    if (!this.#mayCompact || this.#modelCalls < asked.length) return;
    this.#begin(
      await compact(this.#past, {
        limit: compactionLimit(agent.context),
        size: estimateTokens([...this.#messages, ...toolset.model]),
        summarise,
      }),
    );
  }

  /** The summaries that are recorded before the next call that is none. */
  #madeNext(): SummaryPlace[] {
    const left = (this.options.asked ?? []).slice(this.#modelCalls).map(({ summary }) => summary);
    const end = left.indexOf(undefined);
    return (end < 0 ? left : left.slice(0, end)).filter((place) => place !== undefined);
  }

  /** Shows the model this in place of the past so far. */
  #begin(past: Past): void {
    if (past === this.#past) return;
    const untold = this.#messages.length - this.#told;
    this.#past = past;
    this.#messages = this.#toMessages();
    this.#told = this.#messages.length - untold;
  }

  async #summarise({ messages, count, upTo }: SummaryRequest): Promise<string | undefined> {
    const { model } = this.options.input;
    const options = { ...this.#replyOptions(), emit: () => {} };
    const ask = { model, messages, tools: [], parameters: {} };
    this.#modelCalls += 1;
    try {
      const reply = (await this.invoke(
        'model',
        COMPACT,
        { model, count, upTo },
        {
          name: COMPACT,
          run: ({ signal }) => {
            this.#tellIfLetGo(signal);
            return this.options.callModel(ask, options, signal);
          },
          tokensOf: (answer) => toTokens((answer as ModelReply).usage),
        },
      )) as ModelReply;
      this.#usage = addUsage(this.#usage, reply.usage);
      this.#mayCompact = reply.content !== '';
      return reply.content;
    } catch {
      // The step says why. The turn itself may still fit.
      this.#mayCompact = false;
      return undefined;
    }
  }

  /** The signal is the run's own, and a body that is let go is never answered: its reader is told from here. */
  #tellIfLetGo(signal: AbortSignal): void {
    signal.addEventListener('abort', () => isWithdrawn(signal.reason) || this.options.emit(LET_GO), { once: true });
  }

  #add(message: ConversationMessage): void {
    for (const id of callIdsOf(message)) this.#callIds.add(id);
    const { id: _id, reasoning: _kept, ...plain } = message;
    this.#messages.push(plain);
    this.#added.push(message);
  }

  /** The id of the assistant message that is being made. */
  #messageId(): string {
    return messageIdOf(this.execution.run.runId, this.#replies + 1);
  }

  #nextMessageId(): string {
    const id = this.#messageId();
    this.#replies += 1;
    return id;
  }

  #tellText(messageId: string, text: string): void {
    const parts = createReplyParts({ ...this.#replyOptions(), emit: (event) => this.tell(event), messageId });
    parts.text(text);
    parts.close();
  }

  #replyOptions() {
    const { toolset, output } = this.options;
    // What may yet be refused is not told: it could not be taken back.
    const emit: Emit = output ? (event) => !isText(event) && this.options.emit(event) : this.options.emit;
    const uniqueId = (id: string): string => {
      let unique = id;
      for (let n = 2; this.#callIds.has(unique); n++) unique = `${id}_${n}`;
      this.#callIds.add(unique);
      return unique;
    };
    const { untilTaken } = this.options;
    const more = untilTaken ? { untilTaken } : {};
    return { emit, messageId: this.#messageId(), executorOf: toolset.executorOf, uniqueId, ...more };
  }
}

// --- internal ---

function callIdsOf(message: ChatMessage): string[] {
  return message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [];
}

function isText({ type }: TurnEvent): boolean {
  return type.startsWith('text.');
}

function withReasoning(message: ConversationMessage, { reasoning }: ModelReply): ConversationMessage {
  return reasoning === '' ? message : { ...message, reasoning };
}

function toFinishReason(reason: string): FinishReason {
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop';
}

/** Calls the model was cut off in are not to be run: half of a file would be written. */
function toCallReason(reason: string): FinishReason {
  const finish = toFinishReason(reason);
  return finish === 'stop' ? 'tool_calls' : finish;
}
