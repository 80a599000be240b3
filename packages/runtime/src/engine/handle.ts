import type { Arguments, CallRequest, HookRequest, ListedBeside, OpenHook } from './call.ts';
import type { EventReceipt, EventRequest } from './events.ts';
import type { Chunk, NewChunk } from './journal/chunks.ts';
import type { HookRow } from './journal/hooks.ts';
import type { QueuedStart } from './journal/queue.ts';
import type { ClosePolicy, RunRow, RunTrigger } from './journal/run.ts';
import type { Callbacks } from './callbacks.ts';
import type { AnswerRule, ChatAsked, ChatReply, EmbedAsked, EmbedReply, ModelCaller } from './model-calls.ts';
import type { RagCalls } from './rag-calls.ts';
import type { StartedBy } from './started-by.ts';
import type { CodeRegistry } from './values/registry.ts';
import type { SignalsOfRun } from './values/signal-ref.ts';

/** What a body sees instead of the machine's own clock and dice. */
export interface World {
  now(): number;
  /** When the run began: from there `performance.now()` counts. */
  readonly startedAt: number;
  random(): number;
  /** What it has read of `process.env`. */
  readonly variables: Variables;
}

/** How code wants one start. */
export interface StartHow {
  /** Among the starts that wait for the same workflow, higher ones begin first: a whole number from -1000 to 1000. Default 0. */
  priority?: number | undefined;
  /** Begins so much later: milliseconds, or text such as `'10m'`. */
  delay?: number | string | undefined;
  /** Begins at this time: a Date, or ISO 8601 with its offset. */
  at?: Date | string | undefined;
  /** How long the run may take, in place of what its workflow says: milliseconds, or text such as `'1h'`. */
  timeout?: number | string | undefined;
  /** What the run is called among those of its workflow: 1 to 200 characters. At most one unfinished run has it. */
  id?: string | undefined;
  /** When a run that has not ended has the id: an error, that run, or the new one in its place. Default `reject`. */
  onConflict?: 'reject' | 'join' | 'replace' | undefined;
  /** Whether a run that has ended leaves its id to another. Default `always`. */
  reuse?: 'always' | 'after-failure' | 'never' | undefined;
}

/** How code wants a run below its own. */
export interface ChildStartHow extends StartHow {
  /**
   * What happens to it when this run ends: it goes on (`abandon`), is cancelled (`cancel`), or this run does not end before
   * it has (`wait`; a cancel or a timeout of this run cancels it). Default: a cancel or a timeout takes it along, a run that
   * completes or fails leaves it.
   */
  parentClosePolicy?: ClosePolicy | undefined;
}

/** What code in a run can reach of the box that runs it. */
export interface Ambient {
  startWorkflow(
    name: string,
    input: unknown,
    options: ChildStartHow & {
      parentRunId: string;
      /** Who made the run above begin. Undefined: the box itself. */
      onBehalfOf: StartedBy | undefined;
      idempotencyKey?: string;
      isSpread?: boolean;
    },
  ): Promise<StartedWorkflow>;
  /** The output of the run, once it is final; throws what ended it otherwise. */
  waitForRun(started: StartedWorkflow | { status: 'started'; runId: string }): Promise<unknown>;
  /** Begins a turn of an agent as a run below `parent`. The same key answers the same turn. */
  startTurn(message: AgentMessage, options: StartTurnOptions): Promise<StartedTurn>;
  /** Arms a timer that starts a workflow. Throws what a start with the input would. */
  schedule(request: ScheduleRequest): Promise<ScheduledWorkflow>;
  /** False: code made no such timer, or it is gone. */
  unschedule(id: string): Promise<boolean>;
  /** Sends an event. Answers once it is kept. */
  sendEvent(event: EventRequest): Promise<EventReceipt>;
  /** The address an outside service calls to resume a webhook. */
  webhookUrl(token: string): string;
  /** The address a workflow is started at. */
  startUrl(name: string): string;
  /** The published prompt of the key; the run is marked by it. Throws `prompt_not_found`. */
  readPrompt(execution: RunHandle, request: PromptRequest): Promise<PromptAnswer>;
  /** A value of the dynamic configuration. Throws `config_key_not_found`. */
  readConfig(key: string): Promise<unknown>;
  /** Asks a model. Throws `model_provider_missing`, `model_not_selected`, `budget_exceeded`, and what the provider refuses. */
  chat(asked: ChatAsked, caller: ModelCaller, rule?: AnswerRule): Promise<ChatReply>;
  /** The vectors of texts. Throws likewise. */
  embed(asked: EmbedAsked, caller: ModelCaller): Promise<EmbedReply>;
  /** The knowledge of the box. The caller pays for what its searches ask a model. */
  rag(caller: ModelCaller): RagCalls;
  readonly client: BoxClient;
  /** Takes secrets out of a text that whoever made the run begin with `input` is shown. Absent: nothing is known to be one. */
  redact?(this: void, input: string, text: string): string;
  /** The value of a secret of the workspace. Throws `secret_not_found`. */
  readSecret(name: string): Promise<string>;
  /** A service of others, as the box is connected to it. Its calls throw `connection_not_found`. */
  connection(request: ConnectionRequest): ConnectionCalls;
  /** The relational store, through drizzle. The engine hands it on and knows nothing of it. */
  readonly database: unknown;
  /** The objects of the box, or undefined where it has none. Handed on likewise. */
  readonly storage: unknown;
  /** The browser of the box, which may have none that answers. Handed on likewise. */
  readonly browser: unknown;
  /** Never throws. */
  log(line: CodeLine): void;
}

/** Which connection code calls, and for whom. */
export interface ConnectionRequest {
  id: string;
  run: RunRow;
  signal: AbortSignal;
}

/** A service that the box is connected to. */
export interface ConnectionCalls {
  /** As the global one, with the credential of the connection: a path is one of the service. */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Where the user of the run signs in; of a connection of the box, where an operator does. Good for ten minutes. */
  signInUrl(): Promise<{ url: string; expiresAt: string }>;
}

/** What the code of a run logs. */
export interface CodeLine {
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  fields?: Record<string, unknown>;
  run: RunRow;
  /** Undefined: the body. */
  step?: string;
}

/** What code in a run may ask about other runs, and do to them. */
export interface BoxClient {
  /** A start that still waits in its queue is found by its `triggerId`. */
  findRun(id: string): Promise<RunRow | QueuedStart | undefined>;
  /** The run, or the start that waits, that was started with an id of its own. */
  findById(name: string, id: string): Promise<RunRow | QueuedStart | undefined>;
  /** The run once it is final; undefined: there is none. */
  waitForEnd(id: string, signal: AbortSignal): Promise<RunRow | undefined>;
  /** False: there is nothing left to cancel. */
  cancel(id: string): Promise<boolean>;
  /** The next frames of a stream, as soon as there are some; undefined: the run has ended and there are no more. */
  readChunks(stream: StreamPosition & { signal: AbortSignal }): Promise<Chunk[] | { continuedTo: string } | undefined>;
  /** The frames there are, at most a page of them. */
  listChunks(runId: string, name: string, after: number): Promise<Chunk[]>;
  /** The open hook of the token, else the newest closed one. */
  findHook(token: string): Promise<HookRow | undefined>;
  /** Throws as the route does. */
  resumeHook(token: string, payload: unknown): Promise<void>;
  /** Keeps the payload where there is no such hook. Answers the run that was resumed; undefined: it is kept. */
  signalHook(token: string, payload: unknown, waitFor: number | string): Promise<string | undefined>;
  /** Throws as the route does. */
  callWebhook(token: string, request: Request): Promise<Response>;
  /** Takes no more resumes; another run may have the token. */
  closeHook(runId: string, token: string, call: number): Promise<void>;
}

/** Whose prompt it is. */
export type PromptOwner = 'workspace' | { agent: string } | { workflow: string };

export interface PromptRequest {
  key: string;
  /** Default: the agent or workflow of the run; where that has none, the workspace. */
  owner?: PromptOwner | undefined;
}

/** A published prompt, as code is given it. */
export interface PromptAnswer {
  promptId: string;
  version: number;
  text: string;
}

/** What code says to an agent. */
export interface AgentMessage {
  /** The agent's name. */
  agent: string;
  message: string;
  /** The name of the conversation it goes on with. Absent: it stands alone. */
  session?: string;
  /** JSON Schema of the answer. */
  outputSchema?: Record<string, unknown>;
  /** What was said before, of a conversation that the box does not keep. */
  before?: readonly { role: 'user' | 'assistant'; content: string }[];
}

export interface StartTurnOptions {
  parent: RunRow;
  idempotencyKey: string;
  /** The call of the turn above whose task it is. */
  callId?: string;
  /** Called with the text of the answer as it comes, of a turn that runs in this process. */
  onText?(text: string): void;
  /** What its run says made it begin. Default: `workflow`. */
  trigger?: RunTrigger;
  /** The milliseconds its run may take. Default: no limit but that of its agent. */
  timeoutMs?: number;
}

export interface StartedTurn {
  runId: string;
  sessionId: string | null;
}

export interface StreamPosition {
  runId: string;
  name: string;
  /** The `n` of the last frame that is known. */
  after: number;
}

/** A run, or a start that waits for the lock of a serial workflow. */
export type StartedWorkflow =
  | { status: 'started'; workflowName: string; runId: string; worldRunId: string; trigger: string }
  | { status: 'queued'; workflowName: string; triggerId: string; trigger: string };

/** When a timer fires: at the times of a cron expression of five fields, or once. */
export type ScheduleTime =
  | { cron: string; timeZone?: string; at?: undefined; in?: undefined }
  | { at: Date | string | number; cron?: undefined; timeZone?: undefined; in?: undefined }
  | { in: number | string; cron?: undefined; timeZone?: undefined; at?: undefined };

export interface ScheduleRequest {
  name: string;
  input: unknown;
  when: ScheduleTime;
  /** Names the timer among those of the workflow. */
  id: string;
  /** The run that arms it. */
  by: Pick<RunRow, 'startedBy'>;
}

/** A timer that was armed. */
export interface ScheduledWorkflow {
  /** Names it under `/api/recurring-jobs`, and to `unschedule`. */
  id: string;
  /** Null: it has fired before, its one time. */
  nextFireAt: Date | null;
}

/** A running run, as the code in it may know it. */
export interface RunHandle {
  readonly run: RunRow;
  /** What its code has made known by name, where that is not the code there is now. */
  readonly registry?: CodeRegistry | undefined;
  readonly world: World;
  readonly ambient: Ambient;
  /** What it has been answered by `svc.version`. */
  readonly changes: Changes;
  /** What the body does now it has done before: in another process, or before it was parked. */
  readonly isReplaying: boolean;
  /** The abort signals its steps are given. */
  readonly abortSignals: SignalsOfRun;
  /** The same, or what an earlier life of the run may have done before it recorded anything. */
  readonly isRepeating: boolean;
  /** What it has handed to code that others share. */
  readonly callbacks: Callbacks;
  /** It is over, or goes on in another place: what its body still awaits never comes. */
  readonly hasLeft: boolean;
  /** Fails the body, as if it had thrown the error. False: the run has left. */
  crash(error: unknown): boolean;
  /** What the next call of the body is made with: to be asked right before it. Arguments that may be large. */
  write(given: { value: unknown; stepId: string; root: string }): Arguments;
  /** The one way in for every primitive. Resolves with the recorded answer. */
  invoke(request: CallRequest): Promise<unknown>;
  /** Awaits work of the platform that is no call: the run neither goes on nor parks meanwhile. */
  waitFor<T>(work: () => Promise<T>): Promise<T>;
  /** In a step that waits for another run: the run's place in this process is the other's for the taking. */
  standBy<T>(wait: () => Promise<T>): Promise<T>;
  /** Starts a run below it. Rejects with the error of a cancel that the body is about to be given. */
  startBelow<T>(start: () => Promise<T>): Promise<T>;
  /** Makes a hook, with the run's next append. */
  openHook(request: HookRequest, beside?: ListedBeside): OpenHook;
  /** Writes frames to the run's stream, or to that of another run; resolves once they are stored. */
  writeChunks(chunks: NewChunk[], runId?: string): Promise<void>;
  /** The body is being given what was recorded in an earlier life of the run, and there is more of it. */
  readonly isCatchingUp: boolean;
  /** Publishes what the run is at, with its next append. `isSaid`: it was, and is only looked at. Throws what it may not be. */
  publish(state: unknown, isSaid: boolean): void;
  /** Marks the run, with its next append. */
  setAttributes(attributes: Record<string, string | number | boolean>): void;
}

/** Places at which code branches by version. */
export interface Changes {
  /** @param newest what a run has that is there for the first time */
  versionOf(name: string, newest: number): number;
}

/** What the body of one run has read of `process.env`. */
export interface Variables {
  has(name: string): boolean;
  get(name: string): string | undefined;
  /** Keeps the value for the rest of the run. */
  set(name: string, value: string | undefined): void;
}
