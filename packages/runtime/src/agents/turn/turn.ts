import type { RunHandle } from '../../engine/handle.ts';
import { bodyOf } from '../../engine/primitives/hook.ts';
import { encode } from '../../engine/serialize.ts';
import { ONCE } from '../../engine/primitives/step.ts';
import type { AgentState } from '../../tools/state.ts';
import type { Emit, FinishReason, Interrupt, TurnEvent } from '../events/turn-events.ts';
import { toAssistantMessage } from '../model/messages.ts';
import type { ToolCall } from '../model/messages.ts';
import type { ModelReply } from '../model/read-reply.ts';
import { createReplyParts } from '../model/reply.ts';
import type { ReplyOptions } from '../model/reply.ts';
import { readTitles } from './approval-titles.ts';
import { needsApproval, runApproved } from './approval.ts';
import { TurnConversation } from './conversation.ts';
import { passReply } from './held-reply.ts';
import { messageIdOf } from './ids.ts';
import { withReasoning } from './input.ts';
import { callLimits, ModelCalls } from './model-calls.ts';
import type { StepBudget, TurnOptions, TurnOutput } from './options.ts';
import { outputInvalid, toRepair } from './output.ts';
import { createStreamedOutput, isStreamedOutput, isText } from './streamed-output.ts';
import type { CheckedOutput, OutputRule } from './output.ts';
import { runCall } from './run-call.ts';
import { Summaries } from './summaries.ts';
import { answerCall, failed } from './tool-answer.ts';
import { withoutForcedCall } from './tool-choice.ts';
import type { Invoke, ToolTurn } from './tool-turn.ts';

const DEFAULT_MAX_STEPS = 40;

const TO_ASK_ALONE =
  'The call was not run: a person has to approve it, and it came together with calls that others run. Call it again alone.';

/**
 * One turn: call the model, run the tools it asks for, again until it answers, asks for a tool of the client, or the
 * step budget is used up. Runs as the body of a run: each model call and each tool call is a recorded step. A tool
 * that needs an approval waits on a hook, in this process or the next.
 */
export async function runTurn(options: TurnOptions): Promise<TurnOutput> {
  const turn = new Turn(options);
  const { budget = toBudget(options.agent.maxSteps) } = options;
  let last = budget.modelCalls;
  for (let step = 1; step <= last; step++) {
    const reply = await turn.callModel(step);
    if (reply.blockedBy !== undefined) return turn.end(reply.content, 'content_filter', step);
    const isAnswer = reply.toolCalls.length === 0;
    if (isAnswer && !options.output) return turn.end(reply.content, toFinishReason(reply.finishReason), step);
    if (isAnswer && options.output) {
      const checked = await turn.checkOutput(reply, options.output);
      if (checked.ok)
        return turn.end(checked.text, toFinishReason(reply.finishReason), step, { output: checked.value });
    }
    const isForClient = !isAnswer && (await turn.runTools(reply));
    if (isForClient) return turn.end(reply.content, toCallReason(reply.finishReason), step);
    if (turn.isRefused) return turn.endRefused(step);
    if (budget.reopens && turn.takePause()) last = step + budget.modelCalls;
    if (step < last) turn.emit({ type: 'step.end', step });
  }
  return turn.stop(last, budget.steps);
}

/** Emits that a turn begins, unless it has begun before. */
export function beginTurn({ run, isReplaying }: RunHandle, agent: string, emit: Emit): void {
  if (isReplaying) return;
  const { runId, sessionId, createdAt: startedAt } = run;
  emit({ type: 'turn.start', turnId: runId, runId, sessionId, agent, startedAt });
}

// --- internal ---

function toBudget(maxSteps = DEFAULT_MAX_STEPS): StepBudget {
  return { modelCalls: maxSteps, steps: maxSteps };
}

/** One turn while it runs. */
class Turn implements ToolTurn {
  readonly options: TurnOptions;
  readonly execution: RunHandle;
  readonly #conversation: TurnConversation;
  readonly #calls: ModelCalls;
  readonly #summaries: Summaries;
  #state: AgentState;
  #replies = 0;
  /** Calls that neither wait nor are answered. */
  #working = 0;
  /** Interrupts since the answer to the client has ended. */
  readonly #unsaid = new Set<string>();
  #repairs = 0;
  #hasPaused = false;
  /** A person has said no to what ends the turn then. */
  isRefused = false;
  mayWait = true;

  constructor(options: TurnOptions) {
    this.options = options;
    this.execution = bodyOf('runTurn');
    this.#conversation = new TurnConversation(options);
    this.#calls = new ModelCalls(options, this.invoke);
    this.#summaries = new Summaries({
      turn: options,
      conversation: this.#conversation,
      calls: this.#calls,
      replyOptions: () => this.#replyOptions(),
    });
    this.#state = options.state;
  }

  emit(event: TurnEvent): void {
    if (!this.execution.isReplaying) this.options.emit(event);
  }

  async callModel(step: number): Promise<ModelReply> {
    const { input, toolset, output, agent } = this.options;
    const conversation = this.#conversation;
    const begin = onlyOnce(() => this.options.emit({ type: 'step.start', step }));
    if (!this.execution.isReplaying) begin();
    await this.#summaries.makeRoom();
    const answered = await this.#calls.call({
      stepId: input.model,
      name: 'model',
      recorded: { model: input.model, ...conversation.unrecorded() },
      request: {
        model: input.model,
        messages: [...conversation.messages],
        tools: toolset.model,
        parameters: step === 1 ? input.parameters : withoutForcedCall(input.parameters),
        hints: input.hints,
        ...(output ? { outputSchema: output.schema } : {}),
        ...callLimits(agent),
      },
      keepsRequest: true,
      reply: this.#replyOptions(),
      notifiesShutdown: step === 1,
      // One that a process before has begun is recorded as begun, and is asked again: the turn still replays here.
      begins: begin,
    });
    conversation.setRecorded();
    this.emit({ type: 'usage', model: answered.fallback ?? input.model, ...this.#calls.usage });
    const { heldOutput } = answered;
    const reply = heldOutput
      ? await passReply(this, { ...answered, heldOutput }, { step, options: this.#replyOptions(answered.content) })
      : answered;
    conversation.add(withReasoning(toAssistantMessage(reply, this.#nextMessageId()), reply));
    return reply;
  }

  /** Checks an answer, and emits it when it fits. One that does not is asked for again, once. */
  async checkOutput({ content }: ModelReply, rule: OutputRule): Promise<CheckedOutput> {
    const run = () => rule.check(content);
    const checked = (await this.invoke('step', 'output', { content }, { name: 'output', run })) as CheckedOutput;
    const messageId = this.#conversation.lastId;
    // What was emitted cannot be taken back.
    const isStreamed = rule.isStreamed === true && isStreamedOutput(content);
    const isRepaired = this.#repairs > 0;
    if (checked.ok) {
      if (!isStreamed) this.#emitText(messageId, checked.text);
    } else if (isRepaired || isStreamed) throw outputInvalid(this.options.agent.name, checked.issues, { isRepaired });
    else this.#conversation.add({ id: `${messageId}-repair`, role: 'user', content: toRepair(checked.issues) });
    if (!checked.ok) this.#repairs += 1;
    return checked;
  }

  /** True: the client is to run what is left. */
  async runTools({ toolCalls, held = [] }: ModelReply): Promise<boolean> {
    const { toolset, input } = this.options;
    const own = toolCalls.filter(({ name }) => toolset.executorOf(name) === 'box');
    const isForClient = own.length < toolCalls.length;
    const ruleOf = ({ id }: ToolCall) => held.find(({ callId }) => callId === id);
    const asks = own.map((call) => needsApproval(this, call, ruleOf(call)));
    // No client comes back for a stateless turn that waits: it goes on with the calls it was given.
    this.mayWait = !isForClient || input.session !== undefined;
    const waiting = own.filter((_, index) => asks[index] && this.mayWait);
    const titles = waiting.length > 0 ? await readTitles(this, waiting) : undefined;
    this.#working = own.length;
    const answers = own.map((call, index) => {
      if (!asks[index]) return runCall(this, call);
      const title = titles?.get(call.id);
      if (title === undefined) return answerCall(this, call, failed(TO_ASK_ALONE));
      return runApproved(this, call, { heldBy: ruleOf(call), title });
    });
    for (const answer of answers) this.#countDone(answer);
    for (const answer of await Promise.all(answers)) this.#conversation.add(answer);
    return isForClient;
  }

  get state(): AgentState {
    return this.#state;
  }

  set state(state: AgentState) {
    this.#state = state;
    this.emit({ type: 'state', snapshot: { ...state } });
  }

  /** The step budget is used up. */
  stop(step: number, steps: number): Promise<TurnOutput> {
    const content = `The turn stopped after ${steps} steps.`;
    if (this.options.output) throw outputInvalid(this.options.agent.name, content, { isRepaired: false });
    return this.#endWith(content, step);
  }

  endRefused(step: number): Promise<TurnOutput> {
    return this.#endWith('You said no, so that call did not run.', step);
  }

  /** Whether there was a pause since the last time this was asked. */
  takePause(): boolean {
    const hasPaused = this.#hasPaused;
    this.#hasPaused = false;
    return hasPaused;
  }

  async end(
    content: string,
    finishReason: FinishReason,
    steps: number,
    more: Pick<TurnOutput, 'output'> = {},
  ): Promise<TurnOutput> {
    this.emit({ type: 'step.end', step: steps });
    const { save } = this.options;
    const { usage, cost } = this.#calls;
    const kept = this.#conversation.toAdded(this.#state, usage);
    const added = cost === undefined ? kept : { ...kept, cost };
    const step = { name: 'session', run: () => save?.(added) };
    if (save) await this.invoke('step', 'session', { messages: added.messages.length }, step);
    return { content, finishReason, steps, ...more };
  }

  readonly invoke: Invoke = (kind, stepId, input, action) =>
    this.execution.invoke({
      kind,
      stepId,
      input: encode(input, 'input'),
      action: { type: 'run', policy: ONCE, ...action },
    });

  interrupt(interrupt: Interrupt): void {
    this.emit({ type: 'interrupt', ...interrupt });
    if (!this.execution.isReplaying) this.#unsaid.add(interrupt.id);
    this.#working -= 1;
    this.#endAnswerAtRest();
  }

  decided(id: string): void {
    this.#unsaid.delete(id);
    this.#working += 1;
    this.#hasPaused = true;
  }

  #countDone(call: Promise<unknown>): void {
    call.then(
      () => {
        this.#working -= 1;
        this.#endAnswerAtRest();
      },
      // A call never fails; a run that is suspended does.
      () => {},
    );
  }

  /** Ends the answer to the client once no call is at work, and some wait. */
  #endAnswerAtRest(): void {
    if (this.#working > 0 || this.#unsaid.size === 0) return;
    this.#unsaid.clear();
    this.emit({ type: 'finish', reason: 'interrupt' });
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

  /** Says this in place of the model, and ends. */
  #endWith(content: string, step: number): Promise<TurnOutput> {
    const messageId = this.#nextMessageId();
    this.#emitText(messageId, content);
    this.#conversation.add({ id: messageId, role: 'assistant', content });
    return this.end(content, 'stop', step);
  }

  #emitText(messageId: string, text: string): void {
    const parts = createReplyParts({ ...this.#replyOptions(), emit: (event) => this.emit(event), messageId });
    parts.text(text);
    parts.close();
  }

  /** `said`: what the reply has said before. */
  #replyOptions(said = ''): ReplyOptions {
    const { toolset, output, untilTaken } = this.options;
    // What may yet be refused is not emitted: it could not be taken back.
    const emit: Emit = !output
      ? this.options.emit
      : output.isStreamed
        ? createStreamedOutput(this.options.emit, said)
        : (event) => !isText(event) && this.options.emit(event);
    return {
      emit,
      messageId: this.#messageId(),
      executorOf: toolset.executorOf,
      uniqueId: (id) => this.#conversation.uniqueCallId(id),
      ...(untilTaken ? { untilTaken } : {}),
    };
  }
}

function onlyOnce(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}

function toFinishReason(reason: string): FinishReason {
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop';
}

/** Calls the model was cut off in are not to be run: half of a file would be written. */
function toCallReason(reason: string): FinishReason {
  const finish = toFinishReason(reason);
  return finish === 'stop' ? 'tool_calls' : finish;
}
