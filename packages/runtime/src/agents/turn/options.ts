import type { ContextOptions } from '../../definitions/agent.ts';
import type { AgentState } from '../../tools/state.ts';
import type { Emit, FinishReason, Usage } from '../events/turn-events.ts';
import type { CallModel } from '../model/client.ts';
import type { UntilTaken } from '../model/reply.ts';
import type { RecordedModelCall } from './compaction.ts';
import type { TurnGuard } from './guard.ts';
import type { Hide } from './hidden-calls.ts';
import type { ConversationMessage, ConversationSummary, TurnInput } from './input.ts';
import type { OutputRule } from './output.ts';
import type { Toolset } from './toolset.ts';

export interface TurnOptions {
  agent: {
    name: string;
    maxSteps?: number | undefined;
    timeout?: number | string | undefined;
    maxRetries?: number | undefined;
    fallbackModels?: readonly string[] | undefined;
    context?: ContextOptions | undefined;
  };
  input: TurnInput;
  /** The agent's own instructions, before the client's. */
  instructions: string | undefined;
  /** What the conversation was before this turn. */
  history: readonly ConversationMessage[];
  /** Of the first of them. */
  summary?: ConversationSummary | undefined;
  /** The model calls of an earlier process that ran this turn. */
  recordedCalls?: readonly RecordedModelCall[];
  state: AgentState;
  toolset: Toolset;
  callModel: CallModel;
  /** What may pass of what it says, calls and reads. Absent: there are no rules. */
  guard?: TurnGuard;
  /** What is recorded and shown of the arguments of its calls. Absent: all. */
  hide?: Hide;
  emit: Emit;
  /** Waits for readers the turn is not to run ahead of. */
  untilTaken?: UntilTaken;
  /** In place of the agent's own. */
  budget?: StepBudget;
  /** The answer is JSON of this kind. Absent: any text. */
  output?: OutputRule;
  /** Keeps what the turn added. Repeated after a crash: it must do nothing the second time. */
  save?(added: TurnAdded): Promise<void>;
}

/** What a turn may do before it has to say that it stopped. */
export interface StepBudget {
  modelCalls: number;
  /** How it is said. */
  steps: number;
  /** It opens again with each pause that ends. */
  reopens?: boolean;
}

export interface TurnAdded {
  messages: ConversationMessage[];
  state: AgentState;
  usage: Usage;
  /** By the prices there were. Absent: no model that answered had one. */
  cost?: number;
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
