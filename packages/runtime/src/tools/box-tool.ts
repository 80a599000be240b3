import type { InterruptPolicy, Tool, ToolContext } from '../definitions/agent.ts';
import type { AgentState } from './state.ts';

/** A tool as the model sees it. */
export interface ModelTool {
  name: string;
  description: string;
  /** JSON Schema. */
  parameters: Record<string, unknown>;
  /** The model is to keep to it; without a word, the provider decides. */
  strict?: boolean;
}

/** A tool of the box, by how it is run. */
export type BoxTool = AuthorTool | StateTool | ReadTool | TaskTool;

/** Runs as a recorded step. */
export interface AuthorTool {
  kind: 'tool';
  model: ModelTool;
  /** Absent: whoever runs it checks the arguments. */
  inputSchema?: Tool['inputSchema'];
  execute(input: unknown, context: ToolContext): unknown;
  /** Milliseconds a call may take. Undefined: no limit. */
  timeout?: number | undefined;
  interrupt?: InterruptPolicy | undefined;
}

/** Reads and changes what the agent keeps. Runs in the body: the same state and arguments give the same answer. */
export interface StateTool {
  kind: 'state';
  model: ModelTool;
  apply(args: unknown, state: AgentState): StateAnswer;
  interrupt?: InterruptPolicy | undefined;
}

/** Looks at what the agent keeps. Runs as a recorded step, so it may take its time and need not answer the same again. */
export interface ReadTool {
  kind: 'read';
  model: ModelTool;
  /** `turn`: the same object for all calls of one turn. */
  read(args: unknown, state: AgentState, turn: object): Promise<StateAnswer>;
  interrupt?: InterruptPolicy | undefined;
}

/** Has another agent do something, as a run below this one. */
export interface TaskTool {
  kind: 'task';
  model: ModelTool;
  parse(args: unknown): { ok: true; agent: string; message: string } | { ok: false; reason: string };
  interrupt?: InterruptPolicy | undefined;
}

export interface StateAnswer {
  content: string;
  isError?: boolean;
  /** Absent: unchanged. */
  state?: AgentState;
}
