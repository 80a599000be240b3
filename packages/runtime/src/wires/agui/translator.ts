import type { AguiEvent, AguiInterrupt, AguiOutcome, AguiUsage } from './event.ts';
import { createOpenEvents } from './open-events.ts';
import type { FinishReason, Interrupt, TurnEvent, Usage } from '../../agents/events/turn-events.ts';

/** Translates one turn. What it has begun and not ended is ended before the terminal event. */
export interface AguiTranslator {
  start(): AguiEvent;
  /** What the event is on this wire. The terminal event is the caller's to ask for, with `finish` or `fail`. */
  translate(event: TurnEvent): AguiEvent[];
  /** Ends what is open. */
  close(): AguiEvent[];
  finish(reason: FinishReason, openCalls: readonly string[]): AguiEvent[];
  fail(error: { code: string; message: string }): AguiEvent[];
  /** Ids of the messages that were emitted. */
  readonly emitted: ReadonlySet<string>;
  /** Calls of the client that were emitted. */
  readonly clientCalls: readonly string[];
}

export interface AguiRun {
  threadId: string;
  runId: string;
  parentRunId?: string | undefined;
}

export interface TranslatorOptions {
  run: AguiRun;
  /** The box's own id of the run; undefined: there is none. */
  boxRunId: string | undefined;
  /** Signs what an agent thought; a client hands it back unread. */
  signThinking(thinking: string): string;
  /** What the client keeps as state, given what the agent keeps. */
  toState(snapshot: Record<string, unknown>): unknown;
}

export function createTranslator({ run, boxRunId, signThinking, toState }: TranslatorOptions): AguiTranslator {
  const { threadId, runId, parentRunId } = run;
  const own = boxRunId === undefined ? {} : { metadata: { svc: { runId: boxRunId } } };
  const emitted = new Set<string>();
  const clientCalls: string[] = [];
  const { begin, end, endAll } = createOpenEvents();
  const interrupts = new Map<string, Interrupt>();
  let thinking = '';
  /** Of each turn that this run emits. */
  const usages: ({ model: string } & Usage)[] = [];
  let turns = 0;

  const used = () => {
    const usage = usages.filter(({ inputTokens, outputTokens }) => inputTokens + outputTokens > 0).map(toAguiUsage);
    return usage.length > 0 ? { usage } : {};
  };

  const handlers: Handlers = {
    'turn.start'() {
      turns = usages.length;
      return [];
    },
    'step.start': ({ step }) => {
      const stepName = `step ${step}`;
      return begin(stepName, [{ type: 'STEP_STARTED', stepName }], () => [{ type: 'STEP_FINISHED', stepName }]);
    },
    'step.end': ({ step }) => end(`step ${step}`),
    'reasoning.start': ({ id: messageId }) => {
      thinking = '';
      emitted.add(messageId);
      return begin(
        messageId,
        [
          { type: 'REASONING_START', messageId },
          { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
        ],
        () => [
          {
            type: 'REASONING_ENCRYPTED_VALUE',
            subtype: 'message',
            entityId: messageId,
            encryptedValue: signThinking(thinking),
          },
          { type: 'REASONING_MESSAGE_END', messageId },
          { type: 'REASONING_END', messageId },
        ],
      );
    },
    'reasoning.delta': ({ id: messageId, text: delta }) => {
      thinking += delta;
      return [{ type: 'REASONING_MESSAGE_CONTENT', messageId, delta }];
    },
    'reasoning.end': ({ id }) => end(id),
    'text.start': ({ id }) => {
      const messageId = messageOf(id);
      emitted.add(messageId);
      return begin(id, [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }], () => [
        { type: 'TEXT_MESSAGE_END', messageId },
      ]);
    },
    'text.delta': ({ id, text: delta }) => [{ type: 'TEXT_MESSAGE_CONTENT', messageId: messageOf(id), delta }],
    'text.end': ({ id }) => end(id),
    'tool.start': ({ callId: toolCallId, name: toolCallName, messageId: parentMessageId, executor }) => {
      emitted.add(parentMessageId);
      if (executor === 'client') clientCalls.push(toolCallId);
      return begin(
        `call ${toolCallId}`,
        [{ type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId }],
        () => [{ type: 'TOOL_CALL_END', toolCallId }],
      );
    },
    'tool.args': ({ callId: toolCallId, delta }) => [{ type: 'TOOL_CALL_ARGS', toolCallId, delta }],
    'tool.end': ({ callId }) => end(`call ${callId}`),
    'tool.result': ({ callId: toolCallId, messageId, content }) => {
      emitted.add(messageId);
      for (const [id, { callId }] of interrupts) if (callId === toolCallId) interrupts.delete(id);
      return [{ type: 'TOOL_CALL_RESULT', messageId, toolCallId, content, role: 'tool' }];
    },
    interrupt(event) {
      interrupts.set(event.id, event);
      return [];
    },
    state: ({ snapshot }) => [{ type: 'STATE_SNAPSHOT', snapshot: toState(snapshot) }],
    usage(event) {
      usages[turns] = event;
      return [];
    },
  };
  return {
    emitted,
    clientCalls,
    start: () => ({
      type: 'RUN_STARTED',
      threadId,
      runId,
      protocolVersion: '1.0',
      ...(parentRunId === undefined ? {} : { parentRunId }),
      ...own,
    }),
    close: endAll,
    translate: (event) => handlers[event.type as Translated]?.(event as never) ?? [],
    finish: (reason, openCalls) => [
      ...endAll(),
      {
        type: 'RUN_FINISHED',
        threadId,
        runId,
        outcome: toOutcome(reason, openCalls, [...interrupts.values()]),
        ...used(),
        ...(boxRunId === undefined ? {} : { metadata: { svc: { runId: boxRunId, finishReason: reason } } }),
      },
    ],
    fail: ({ code, message }) => [...endAll(), { type: 'RUN_ERROR', message, code, ...used(), ...own }],
  };
}

/** A reply whose text is interrupted is one message: its later texts are added to it. */
export function messageOf(textId: string): string {
  return /^(msg_[^_]+_\d+)-\d+$/.exec(textId)?.[1] ?? textId;
}

// --- internal ---

type Translated = Exclude<TurnEvent['type'], 'finish' | 'error' | 'text.logprobs'>;
type Handlers = { [T in Translated]: (event: Extract<TurnEvent, { type: T }>) => AguiEvent[] };

function toOutcome(reason: FinishReason, openCalls: readonly string[], interrupts: Interrupt[]): AguiOutcome {
  if (reason === 'cancelled') return { type: 'cancelled' };
  if (reason === 'interrupt' && interrupts.length > 0)
    return { type: 'interrupt', interrupts: interrupts.map(toAguiInterrupt) };
  return reason === 'tool_calls' && openCalls.length > 0
    ? { type: 'success', pendingToolCallIds: [...openCalls] }
    : { type: 'success' };
}

function toAguiInterrupt({
  id,
  callId,
  agent,
  name,
  args,
  message,
  allow,
  responseSchema,
  expiresAt,
}: Interrupt): AguiInterrupt {
  return {
    id,
    reason: callId === undefined ? 'confirmation' : 'tool_call',
    message,
    ...(callId === undefined ? {} : { toolCallId: callId }),
    responseSchema,
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
    metadata: {
      svc: {
        ...(agent === undefined ? {} : { agent }),
        ...(name === undefined ? {} : { tool: name, arguments: args }),
        allow,
      },
    },
  };
}

function toAguiUsage(usage: { model: string } & Usage): AguiUsage {
  const { model, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
  const slash = model.indexOf('/');
  return {
    ...(slash > 0 ? { provider: model.slice(0, slash) } : {}),
    model,
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    // The parts are counted from zero, so zero may be a part that is not reported.
    ...(cacheReadTokens > 0 ? { cachedInputTokens: cacheReadTokens } : {}),
    ...(cacheWriteTokens > 0 ? { cacheWriteInputTokens: cacheWriteTokens } : {}),
    ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
  };
}
