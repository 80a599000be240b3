import type { RunAction } from '../engine/call.ts';
import { bodyOf } from '../engine/hook.ts';
import type { StepKind, Tokens } from '../engine/journal.ts';
import { encode } from '../engine/serialize.ts';
import { ONCE } from '../engine/step.ts';
import type { Emit, FinishReason, TurnEvent, Usage } from '../wires/events.ts';
import { NO_USAGE } from '../wires/events.ts';
import type { DeepAgentDefinition } from './definition.ts';
import type { ChatMessage, ToolCall } from './messages.ts';
import { toAssistantMessage } from './messages.ts';
import type { CallModel, ModelReply, ModelTool } from './model.ts';
import { createReplyParts } from './reply.ts';
import type { ToolAnswer } from './tools.ts';
import { runTool } from './tools.ts';

export interface TurnOptions {
  agent: DeepAgentDefinition;
  /** The agent's tools as the model sees them. */
  readTools(): Promise<ModelTool[]>;
  model: string;
  messages: ChatMessage[];
  parameters: Record<string, unknown>;
  callModel: CallModel;
  emit: Emit;
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
 * One turn: call the model, run the tools it asks for, again until it answers or the step budget is used up.
 * Runs as the body of a run: each model call and each tool call is a recorded step.
 */
export async function runTurn(options: TurnOptions): Promise<TurnOutput> {
  const { agent, emit } = options;
  const { run } = bodyOf('runTurn');
  emit({ type: 'turn.start', turnId: run.runId, runId: run.runId, agent: agent.name, startedAt: run.createdAt });
  const instructions = await instructionsOf(agent);
  const tools = await options.readTools();
  const messages = instructions
    ? [{ role: 'system' as const, content: instructions }, ...options.messages]
    : [...options.messages];
  const maxSteps = agent.maxSteps ?? DEFAULT_MAX_STEPS;
  let total = NO_USAGE;
  let told = 0;
  for (let step = 1; step <= maxSteps; step++) {
    emit({ type: 'step.start', step });
    const request = { model: options.model, messages: [...messages], tools, parameters: options.parameters };
    const reply = (await invoke(
      'model',
      options.model,
      { model: options.model, from: told, messages: messages.slice(told) },
      {
        name: 'model',
        run: async ({ signal }) => {
          // The signal is the run's own, and a body that is let go is never answered: its reader is told from here.
          if (step === 1) signal.addEventListener('abort', () => emit(LET_GO), { once: true });
          return options.callModel(request, emit, signal);
        },
        tokensOf: (answer) => toTokens((answer as ModelReply).usage),
      },
    )) as ModelReply;
    told = messages.length;
    total = addUsage(total, reply.usage);
    emit({ type: 'usage', ...total });
    messages.push(toAssistantMessage(reply.content, reply.toolCalls));
    if (reply.toolCalls.length === 0) {
      emit({ type: 'step.end', step });
      return finish(emit, { content: reply.content, finishReason: toFinishReason(reply.finishReason), steps: step });
    }
    messages.push(...(await runTools(options, reply.toolCalls)));
    emit({ type: 'step.end', step });
  }
  const content = `The turn stopped after ${maxSteps} steps.`;
  const parts = createReplyParts(emit);
  parts.text(content);
  parts.close();
  return finish(emit, { content, finishReason: 'stop', steps: maxSteps });
}

// --- internal ---

/** All calls of one model answer at once; their results in the order the model asked. */
async function runTools({ agent, emit }: TurnOptions, calls: readonly ToolCall[]): Promise<ChatMessage[]> {
  const runId = bodyOf('runTurn').run.runId;
  return Promise.all(
    calls.map(async (call): Promise<ChatMessage> => {
      const action = {
        name: call.name,
        run: async (attempt: Parameters<RunAction['run']>[0]) => {
          const started = performance.now();
          const told = await runTool(agent, call, attempt, runId);
          const { content, isError } = told;
          emit({
            type: 'tool.result',
            callId: call.id,
            content,
            isError,
            durationMs: Math.round(performance.now() - started),
          });
          return told;
        },
      };
      const { content } = (await invoke('tool', `tool:${call.name}`, call, action)) as ToolAnswer;
      return { role: 'tool', tool_call_id: call.id, content };
    }),
  );
}

function invoke(
  kind: StepKind,
  stepId: string,
  input: unknown,
  action: Pick<RunAction, 'name' | 'run' | 'tokensOf'>,
): Promise<unknown> {
  return bodyOf('runTurn').invoke({
    kind,
    stepId,
    input: encode(input, 'input'),
    action: { type: 'run', policy: ONCE, ...action },
  });
}

async function instructionsOf(agent: DeepAgentDefinition): Promise<string | undefined> {
  if (typeof agent.instructions !== 'function') return agent.instructions;
  return agent.instructions({ agent: agent.name, now: new Date() });
}

function finish(emit: Emit, output: TurnOutput): TurnOutput {
  emit({ type: 'finish', reason: output.finishReason });
  return output;
}

function toFinishReason(reason: string): FinishReason {
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop';
}

function toTokens(usage: Usage): Tokens {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, totalTokens: inputTokens + outputTokens };
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
