import type { GuardrailDefinition } from '../guardrails/define.ts';
import type { Limits } from '../limits/limits.ts';
import type { EndUser, StartedBy } from '../engine/started-by.ts';
import type { KnownAgent, KnownConnection } from '../register.ts';
import type { AnySchema, OutputOf } from '../schema/schema.ts';

/** What a tool may know about the call it answers. */
export interface ToolContext {
  /** Aborts when the turn is cancelled, and when the tool has had its time. */
  signal: AbortSignal;
  /** The same however often the call is repeated after a crash: hand it to whatever the tool has an effect on. */
  idempotencyKey: string;
  run: { id: string };
  /** Null in a stateless turn. */
  session: { id: string } | null;
  /** Who made the turn begin, also where it is below another run. */
  caller: StartedBy;
  /** The end user the turn is for; null: none. */
  user: EndUser | null;
}

export interface ToolDefinition<S extends AnySchema = AnySchema> {
  /** One sentence the model reads. */
  description: string;
  inputSchema: S;
  /** The most one call may take: milliseconds or a duration. Then `signal` aborts, and the model is sent that. Default: no limit. */
  timeout?: number | string;
  /** A failure goes to the model as the tool's result; it never ends the turn. */
  // `any`: what it answers is not looked at then, so that agents whose tools ask each other are no circle of types.
  // oxlint-disable-next-line typescript/no-explicit-any
  execute(input: OutputOf<S>, context: ToolContext): any;
}

/** A tool as the box keeps it: input already checked against its schema. */
export type Tool = Omit<ToolDefinition, 'execute'> & {
  execute(input: unknown, context: ToolContext): unknown;
};

export interface DeepAgentDefinition<S extends AnySchema | undefined = AnySchema | undefined> {
  /** Must equal the folder name; also the `model` value of a request. */
  name: string;
  /** What it is for, one sentence: shown to agents that may hand it a task. */
  description?: string;
  /** A bare model id, `<vendor>/<model>`. Default: the workspace's default model. */
  model?: string;
  /**
   * How often a call of the model is sent again that was answered 408, 429 or 5xx, or not at all, before anything of an
   * answer came: 0 to 10, after what `retry-after` says, up to 20 s. Default 2.
   */
  maxRetries?: number;
  /** Models that are asked one after the other when the call still fails so. Default: none. */
  fallbackModels?: readonly string[];
  /** What the agent is instructed first: text, or a function of the turn. It comes after `instructions.md`, where there is one. */
  instructions?:
    | string
    | ((turn: { agent: string; now: Date; caller: StartedBy; user: EndUser | null }) => string | Promise<string>);
  /** Key = the name the model calls it by. */
  tools?: Record<string, Tool>;
  /** Tools that wait for a person before they run. True: may be approved, edited and rejected, and waits for ever. */
  interruptOn?: Record<string, boolean | Partial<InterruptPolicy>>;
  /** Model calls in one turn. Default 40. */
  maxSteps?: number;
  /** The most one model call may take: milliseconds or a duration. Default 10 minutes. */
  timeout?: number | string;
  /** What all its callers together may use. */
  limits?: Limits;
  /** When the older messages of a session are summarised. */
  context?: ContextOptions;
  /** True: the model keeps a plan with the session, by `write_todos`. */
  planning?: boolean;
  /** True: the model keeps texts with the session, by `ls`, `read_file`, `write_file`, `edit_file`, `glob` and `grep`. */
  files?: boolean;
  /**
   * True: the model has a browser, by `browser_navigate`, `browser_read`, `browser_click`, `browser_type`, `browser_select`,
   * `browser_screenshot`, `browser_back` and `browser_close`. Each turn has a session of its own.
   */
  browser?: boolean;
  /** The agents the model may hand a task, by `task`: agents of this workspace by name, or some of its own. */
  subagents?: readonly (KnownAgent | SubagentDefinition)[];
  /** What every answer is: the model writes JSON that this schema takes. */
  output?: S;
  /**
   * True: that JSON is streamed while it is written. An answer that does not fit is then not asked for again: what clients
   * have of it cannot be taken back, and the turn fails. Under a guardrail about what the agent says it comes whole once that
   * has judged it. Default: it comes whole, once it fits.
   */
  streamOutput?: boolean;
  /** What the model may read when it needs it, by `read_skill`; with those of `skills/*.md`. */
  skills?: readonly Skill[];
  /** Collections of the box that the model may look things up in, by `search_knowledge`: `['handbook']`. At most 20. */
  knowledge?: readonly string[];
  /**
   * What its end users said in earlier sessions, and were answered, is recalled to it by what they ask. Kept for each end user:
   * a turn that is for none has no memory. True, or how much. Default: false.
   */
  memory?: boolean | MemoryOptions;
  /** Servers of the Model Context Protocol whose tools the model may call. Key = the server's name. */
  mcpServers?: Record<string, McpServer>;
  /** Rules about what may pass, of this agent and its sub-agents. Each has a name. */
  guardrails?: readonly GuardrailDefinition[];
}

/** How a person decides about a tool. */
export interface InterruptPolicy {
  /**
   * Who decides: `operator` who has a seat that may, over the API, or `user` whose conversation it is, over its wire;
   * operators may then, too. Default `operator`: no API key decides what its own conversation waits for.
   */
  by?: 'operator' | 'user';
  /**
   * Which operators: people by their ids, as a token of theirs has it (`sub`), and roles, as `role:admin`. Whoever is none
   * of them is refused, whatever else its role may do. Default: every operator.
   */
  approvers?: readonly string[];
  /**
   * What a person is asked: text, or a function of the arguments as the model wrote them; of what that gives the first 500
   * characters. Where it throws, or gives no text, it is logged and the default is shown. Default: `Run "<tool>"?`
   */
  // oxlint-disable-next-line typescript/no-explicit-any -- the author knows what the tool takes
  title?: string | ((args: any) => string);
  /** What they should know to decide, as text. */
  description?: string;
  /** What the person may do. Default: all three. */
  allow: readonly ('approve' | 'edit' | 'reject')[];
  /** After this time `fallback` decides. Default: it waits for ever. */
  timeout?: number | string;
  /** Default `reject`. */
  fallback?: 'approve' | 'reject';
}

/** An agent that only the one which declares it can hand a task to. */
export interface SubagentDefinition extends Pick<
  DeepAgentDefinition,
  | 'name'
  | 'model'
  | 'maxRetries'
  | 'fallbackModels'
  | 'instructions'
  | 'tools'
  | 'interruptOn'
  | 'maxSteps'
  | 'timeout'
  | 'planning'
  | 'files'
  | 'browser'
  | 'skills'
  | 'knowledge'
  | 'mcpServers'
> {
  /** What it is for, one sentence the model reads. */
  description: string;
}

/** What an agent can look up. */
export interface Skill {
  name: string;
  /** When it is of use, one sentence: all the model sees before it reads the skill. */
  description: string;
  text: string;
}

/**
 * Where a server of the Model Context Protocol is: at an address, at a service that the box is connected to, or a program
 * that is started here.
 */
export type McpServer = McpServerPlace & {
  /** The most one call of its tools may take: milliseconds or a duration. Default 5 minutes. */
  timeout?: number | string;
  /** Those of its tools that the agent is given, by the names the server has for them. Default: all it lists, also later. */
  tools?: string[];
};

export type McpServerPlace =
  | { url: string; headers?: Record<string, string>; command?: undefined; connection?: undefined }
  | {
      /** The id of a connection: each request has its credential, of a connection per user that of the user of the turn. */
      connection: KnownConnection;
      /** Below the address of the service. Default: that address itself. */
      path?: string;
      url?: undefined;
      command?: undefined;
    }
  | {
      command: string;
      args?: string[];
      env?: Record<string, string>;
      cwd?: string;
      url?: undefined;
      connection?: undefined;
    };

/** How much of earlier sessions of an end user a turn is shown. */
export interface MemoryOptions {
  /** Pieces of some 300 tokens, 1 to 20. Default 4. */
  topK?: number;
  /** The cosine, 0 to 1, below which a piece is left out. Default 0.3. */
  minScore?: number;
  /** Tokens of all pieces together, 100 to 8,000. Default 800. */
  maxTokens?: number;
}

/** How much of a conversation the model is shown. */
export interface ContextOptions {
  /** Tokens the model takes. Default 128,000. */
  maxTokens?: number;
  /** The share of them, up to 1, at which older messages are summarised. Default 0.8. */
  compactAt?: number;
}
