import type { RunAction } from '../engine/call.ts';
import type { RunHandle } from '../engine/handle.ts';
import { bodyOf } from '../engine/hook.ts';
import type { StepKind, Tokens } from '../engine/journal.ts';
import { encode } from '../engine/serialize.ts';
import { ONCE } from '../engine/step.ts';
import type { Emit, FinishReason, Interrupt, TurnEvent, Usage } from '../wires/events.ts';
import { NO_USAGE } from '../wires/events.ts';
import type { ChatMessage } from './messages.ts';
import { pairToolCalls, toAssistantMessage } from './messages.ts';
import type { CallModel, ModelReply } from './model.ts';
import { askAndRun, needsPerson } from './pauses.ts';
import { createReplyParts } from './reply.ts';
import { runCall } from './run-call.ts';
import type { Toolset } from './toolset.ts';
import type { ConversationMessage, TurnInput } from './turn-input.ts';
import type { TurnState } from './turn-state.ts';

export interface TurnOptions {
  agent: { name: string; maxSteps?: number | undefined };
  input: TurnInput;
  /** The agent's own instructions, before the client's. */
  instructions: string | undefined;
  /** What the conversation was before this turn. */
  history: readonly ConversationMessage[];
  state: TurnState;
  toolset: Toolset;
  callModel: CallModel;
  emit: Emit;
  /** Keeps what the turn added. Repeated after a crash: it must do nothing the second time. */
  save?(added: TurnAdded): Promise<void>;
}

export interface TurnAdded {
  messages: ConversationMessage[];
  state: TurnState;
  usage: Usage;
}

/** What the run records as its output. */
export interface TurnOutput {
  content: string;
  finishReason: FinishReason;
  steps: number;
}

const DEFAULT_MAX_STEPS = 40;
const LET_GO: TurnEvent = {
  type: 'error',
  status: 503,
  code: 'shutting_down',
  message: 'The box let go of this turn before it was finished. Ask again.',
  retryable: true,
};

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
    if (reply.toolCalls.length === 0) return turn.end(reply.content, toFinishReason(reply.finishReason), step);
    const isForClient = await turn.runTools(reply);
    if (isForClient) return turn.end(reply.content, 'tool_calls', step);
    turn.tell({ type: 'step.end', step });
  }
  return turn.stop(maxSteps);
}

/** One turn while it runs. */
export class Turn {
  readonly options: TurnOptions;
  readonly execution: RunHandle;
  /** What the model is shown. */
  readonly #messages: ChatMessage[];
  /** What the conversation gets. */
  readonly #added: ConversationMessage[];
  readonly #callIds: Set<string>;
  #state: TurnState;
  #usage = NO_USAGE;
  #replies = 0;
  #asked = 0;
  /** How many of the messages the journal has. */
  #told: number;

  constructor(options: TurnOptions) {
    const { input, history, instructions } = options;
    this.options = options;
    this.execution = bodyOf('runTurn');
    const system = [instructions, ...input.system].filter(Boolean).join('\n\n');
    const conversation = pairToolCalls([...history, ...input.messages]);
    this.#messages = system === '' ? conversation : [{ role: 'system', content: system }, ...conversation];
    this.#told = this.#messages.length;
    this.#added = [...input.messages];
    this.#callIds = new Set(conversation.flatMap(callIdsOf));
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
    const { input, toolset, emit } = this.options;
    this.tell({ type: 'step.start', step });
    const request = {
      model: input.model,
      messages: [...this.#messages],
      tools: toolset.model,
      parameters: input.parameters,
      ...(input.outputSchema ? { outputSchema: input.outputSchema } : {}),
    };
    const recorded = { model: input.model, from: this.#told, messages: this.#messages.slice(this.#told) };
    const reply = (await this.invoke('model', input.model, recorded, {
      name: 'model',
      run: ({ signal }) => {
        // The signal is the run's own, and a body that is let go is never answered: its reader is told from here.
        if (step === 1) signal.addEventListener('abort', () => emit(LET_GO), { once: true });
        return this.options.callModel(request, this.#replyOptions(), signal);
      },
      tokensOf: (answer) => toTokens((answer as ModelReply).usage),
    })) as ModelReply;
    this.#told = this.#messages.length;
    this.#usage = addUsage(this.#usage, reply.usage);
    this.tell({ type: 'usage', model: input.model, ...this.#usage });
    this.#add(toAssistantMessage(reply, this.#nextMessageId()));
    return reply;
  }

  /** True: the client is to run what is left. */
  async runTools({ toolCalls }: ModelReply): Promise<boolean> {
    const { toolset, save } = this.options;
    const own = toolCalls.filter(({ name }) => toolset.executorOf(name) === 'box');
    const isForClient = own.length < toolCalls.length;
    // Without a session the answers of the box's own tools would be lost: the client brings back its own only.
    const runs = isForClient && !save ? [] : own;
    const answers = await Promise.all(
      runs.map((call) => (needsPerson(this, call) ? askAndRun(this, call, runs) : runCall(this, call))),
    );
    for (const answer of answers) this.#add(answer);
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
    const messageId = this.#nextMessageId();
    const parts = createReplyParts({ ...this.#replyOptions(), emit: (event) => this.tell(event), messageId });
    parts.text(content);
    parts.close();
    this.#add({ id: messageId, role: 'assistant', content });
    return this.end(content, 'stop', steps);
  }

  async end(content: string, finishReason: FinishReason, steps: number): Promise<TurnOutput> {
    this.tell({ type: 'step.end', step: steps });
    const { save } = this.options;
    const added = { messages: this.#added, state: this.#state, usage: this.#usage };
    if (save)
      await this.invoke(
        'step',
        'session',
        { messages: added.messages.length },
        { name: 'session', run: () => save(added) },
      );
    return { content, finishReason, steps };
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

  /** A call waits for a person. Once `all` of them do, nothing more is told until the first is decided. */
  interrupt(interrupt: Interrupt, all: number): void {
    this.tell({ type: 'interrupt', ...interrupt });
    this.#asked += 1;
    if (this.#asked % all === 0) this.tell({ type: 'finish', reason: 'interrupt' });
  }

  #add(message: ConversationMessage): void {
    for (const id of callIdsOf(message)) this.#callIds.add(id);
    const { id: _id, ...plain } = message;
    this.#messages.push(plain);
    this.#added.push(message);
  }

  /** The id of the assistant message that is being made. */
  #messageId(): string {
    return `msg_${this.execution.run.runId.replaceAll('-', '')}_${this.#replies + 1}`;
  }

  #nextMessageId(): string {
    const id = this.#messageId();
    this.#replies += 1;
    return id;
  }

  #replyOptions() {
    const { emit, toolset } = this.options;
    const uniqueId = (id: string): string => {
      let unique = id;
      for (let n = 2; this.#callIds.has(unique); n++) unique = `${id}_${n}`;
      this.#callIds.add(unique);
      return unique;
    };
    return { emit, messageId: this.#messageId(), executorOf: toolset.executorOf, uniqueId };
  }
}

// --- internal ---

function callIdsOf(message: ChatMessage): string[] {
  return message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [];
}

function toFinishReason(reason: string): FinishReason {
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop';
}

function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
}

function toTokens(usage: Usage): Tokens {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, totalTokens: inputTokens + outputTokens };
}
