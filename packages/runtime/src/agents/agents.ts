import type { AgentDefinition, Catalog } from '../catalog/catalog.ts';
import type { Engine, StartRequest } from '../engine/engine.ts';
import type { Body } from '../engine/execution.ts';
import type { AgentMessage, StartedTurn, StartTurnOptions } from '../engine/handle.ts';
import { newRunId } from '../engine/ids.ts';
import { isFinal } from '../engine/journal.ts';
import type { Journal, JournalRecord, RunRow } from '../engine/journal.ts';
import { decode } from '../engine/serialize.ts';
import { BoxError } from '../errors.ts';
import { parseWith } from '../schema/schema.ts';
import type { Issue } from '../schema/schema.ts';
import type { Log } from '../log.ts';
import type { SessionKind, Sessions } from '../sessions/sessions.ts';
import type { EventBatches, TurnEvent } from '../wires/events.ts';
import type { DeepAgentDefinition } from './definition.ts';
import { agentNotFound, clientGone, toErrorEvent, turnOpen } from './agent-errors.ts';
import { withInterrupt } from './builtin/builtins.ts';
import { nextDepth, toChildRequest, toTextReader } from './child-turn.ts';
import { createLiveTurns } from './live-turns.ts';
import type { TurnReader } from './live-turns.ts';
import { createMcpServers } from './mcp/servers.ts';
import type { ChatMessage } from './messages.ts';
import type { CallModel } from './model.ts';
import { toRecordedMessages } from './recorded-messages.ts';
import { createRecordedPauses } from './recorded-pauses.ts';
import { outputRuleOf } from './output.ts';
import { splitName, toTaskTool } from './subagents.ts';
import { createToolset, toBoxTools } from './toolset.ts';
import type { BoxTool } from './toolset.ts';
import type { ClientTool, ConversationMessage, ConversationSummary, TurnInput } from './turn-input.ts';
import { NO_STATE } from './turn-state.ts';
import { runTurn } from './turn.ts';
import type { TurnAdded, TurnOutput } from './turn.ts';

/** What a wire asks for. */
export interface TurnRequest {
  agent: string;
  /** The conversation, or what is new of it where the box keeps it. Messages without an id get one. */
  messages: (ChatMessage & { id?: string })[];
  parameters: Record<string, unknown>;
  /** Tools the client runs itself. */
  tools?: ClientTool[];
  /** `name`: what the client calls it. */
  session?: { name: string; kind: SessionKind; cutAfter?: string | null };
  outputSchema?: Record<string, unknown>;
}

/** A turn that is being told. */
export interface RunningTurn {
  runId: string;
  /** Null: a stateless turn. */
  sessionId: string | null;
  startedAt: number;
  /** Ends with `finish` or `error`, once the run's end, or its pause, is recorded. */
  events: EventBatches;
  /** The client went away: a stateless turn is cancelled, one on a session runs on. */
  leave(): void;
}

export interface Agents {
  names(): string[];
  /** Begins a turn as a run. Throws before anything is recorded when the agent cannot answer. */
  startTurn(request: TurnRequest): Promise<RunningTurn>;
  /** Begins a turn below a run, for code in that run. The same key answers the same turn. */
  startChild(message: AgentMessage, options: StartTurnOptions): Promise<StartedTurn>;
  /**
   * Reads on where a turn that waited for a person goes on: call it before what it waits for is decided. One that goes
   * on in another process is read as the journal has it: its end, or the calls it waits for next. `known`: the approvals
   * it is known to wait for.
   */
  follow(run: RunRow, known?: readonly string[]): RunningTurn;
  /** The turn a session has not ended, if there is one. Throws when the agent cannot answer. */
  findOpenTurn(agent: string, sessionName: string): Promise<RunRow | undefined>;
  /** The conversation of a turn that has not ended, with what it has made so far. */
  readOpenTurn(run: RunRow): Promise<ConversationMessage[]>;
  /** What is wrong with arguments for a tool of the box. A tool that is gone has nothing to say. */
  checkArguments(agent: string, tool: string, args: unknown): Promise<Issue[]>;
  /** The code of a turn that goes on in this process. */
  body(run: RunRow): Promise<Body>;
  /** Lets go of the servers that agents use. */
  close(): Promise<void>;
}

export interface AgentsOptions {
  catalog: Catalog;
  engine: Engine;
  sessions: Sessions;
  journal: Pick<Journal, 'getRun' | 'getRecords' | 'hooks' | 'listRuns'>;
  callModel: CallModel;
  log: Log;
  isArmed(): boolean;
  defaultModel(): string | undefined;
}

export function createAgents(options: AgentsOptions): Agents {
  const { catalog, engine, journal, sessions } = options;
  const live = createLiveTurns();
  const servers = createMcpServers(options.log);
  const pauses = createRecordedPauses({ journal, engine });
  // By definition, so that an agent that was edited is read again.
  const tools = new WeakMap<DeepAgentDefinition, Promise<BoxTool[]>>();
  const readTools = (agent: DeepAgentDefinition): Promise<BoxTool[]> => {
    const known = tools.get(agent) ?? toBoxTools(agent);
    tools.set(agent, known);
    return known;
  };

  /** Also those that others have a say in: agents that may be edited, servers that may be down. */
  const listTools = async (agent: DeepAgentDefinition): Promise<{ tools: BoxTool[]; notes: string[] }> => {
    const own = await readTools(agent);
    const task = await toTaskTool(agent, (name) => catalog.findAgent(name)?.definition?.agent.description);
    const offered = task ? [...own, withInterrupt(task, agent)] : own;
    if (!agent.mcpServers) return { tools: offered, notes: [] };
    const { tools: remote, notes } = await servers.list(
      agent.mcpServers,
      offered.map(({ model }) => model.name),
    );
    return { tools: [...offered, ...remote.map((tool) => withInterrupt(tool, agent))], notes };
  };

  const toBody = async (run: TurnRun, input: TurnInput): Promise<Body> => {
    const { agent, codeHash } = findAgent(options, run.name);
    const { tools: own, notes } = await listTools(agent);
    const toolset = createToolset(own, input.tools);
    const { runId, sessionId } = run;
    const { session } = input;
    const output = await outputRuleOf(agent, input);
    let history: ConversationMessage[] = [];
    let state = NO_STATE;
    let summary: ConversationSummary | undefined;
    const save = async (id: string, added: TurnAdded): Promise<void> =>
      sessions.add({
        sessionId: id,
        runId,
        ...added,
        ...(session ? { cutAfter: session.cutAfter } : { messages: [], state: NO_STATE }),
      });
    return {
      codeHash,
      durability: 'synced',
      // The session is this turn's until it ends, so what is read here is what was there when it began.
      async prepare() {
        if (session && sessionId !== null)
          ({ messages: history, state, summary } = await sessions.read(sessionId, session.cutAfter, runId));
      },
      run: async () =>
        runTurn({
          agent,
          input,
          instructions: [await instructionsOf(agent), ...notes].filter(Boolean).join('\n\n'),
          history,
          summary,
          state,
          toolset,
          callModel: options.callModel,
          emit: live.emitterOf(runId),
          ...(output ? { output } : {}),
          ...(sessionId === null ? {} : { save: (added) => save(sessionId, added) }),
        }),
      // Whoever waited for a stateless turn went with the process, unless that is another run. One that waits for a person
      // has told its client so.
      ...(session || run.parentRunId !== null
        ? {}
        : { whenFound: (records) => (records.some(isPause) || live.isRead(runId) ? undefined : clientGone()) }),
    };
  };

  const read = (runId: string, sessionId: string | null, startedAt: number, reader: Reader): RunningTurn => {
    const { done } = reader;
    const finish = (event: TurnEvent): void => {
      reader.push(event);
      done.abort(OVER);
    };
    void engine
      .wait(runId, LONGEST_TURN_MS, done.signal)
      .then((row) => !done.signal.aborted && finish(toEnd(row)))
      .catch((error: unknown) => finish(toErrorEvent(error)));
    return {
      runId,
      sessionId,
      startedAt,
      events: untilEnd(reader, (asked) => pauses.whenAsked(runId, asked)),
      leave() {
        finish({ type: 'finish', reason: 'cancelled' });
        if (sessionId === null) engine.cancel(runId, clientGone()).catch(() => {});
      },
    };
  };

  const modelOf = (name: string): string => {
    const model = findAgent(options, name).agent.model ?? options.defaultModel();
    if (model) return model;
    throw new BoxError(
      'model_not_selected',
      `No model is selected for agent "${name}". Set "model" in defineDeepAgent, or a default in svc.config.ts.`,
    );
  };

  /** Starts the run of a turn, or finds the one that the same key has started. One turn of a session at a time. */
  const startRun = async (run: TurnRun, input: TurnInput, how: TurnStart): Promise<RunRow> => {
    const { runId, name, sessionId } = run;
    const started = await engine.start({
      runId,
      kind: 'agent',
      name,
      input,
      body: await toBody(run, input),
      ...(sessionId === null ? {} : { sessionId }),
      ...(input.session ? { serial: { key: `session ${sessionId}`, whenTaken: 'refuse' as const } } : {}),
      ...how,
    });
    if (started.outcome === 'refused') throw turnOpen(started.holder);
    if (started.outcome === 'created') return started.run;
    if (started.outcome === 'repeated' && how.idempotencyKey !== undefined) return started.run;
    throw new Error(`The start of a turn was ${started.outcome}.`);
  };

  return {
    names: () => catalog.agents().map(({ entry }) => entry.name),
    async startTurn(request) {
      const { agent: name, session } = request;
      const model = modelOf(name);
      const runId = newRunId();
      const input = toInput(runId, request, model);
      const sessionId = session ? await sessions.open({ agent: name, name: session.name, kind: session.kind }) : null;
      const reader = { ...live.read(runId), done: new AbortController() };
      try {
        const run = { runId, name, sessionId, parentRunId: null };
        const { createdAt } = await startRun(run, input, { trigger: 'chat' });
        return read(runId, input.session ? sessionId : null, createdAt, reader);
      } catch (error) {
        reader.close();
        throw error;
      }
    },
    async startChild({ agent: name, message, session, outputSchema }, { parent, idempotencyKey, onText }) {
      const model = modelOf(name);
      const depth = nextDepth(name, parent);
      const runId = newRunId();
      const input: TurnInput = {
        ...toInput(runId, toChildRequest({ agent: name, message, session, outputSchema }, idempotencyKey), model),
        depth,
      };
      const sessionId =
        session === undefined ? null : await sessions.open({ agent: name, name: session, kind: 'session' });
      const stopTelling = onText && live.tap(runId, toTextReader(onText));
      try {
        const { runId: parentRunId } = parent;
        const run = { runId, name, sessionId, parentRunId };
        const { runId: childId } = await startRun(run, input, { trigger: 'workflow', parentRunId, idempotencyKey });
        if (stopTelling)
          void engine
            .wait(childId, LONGEST_TURN_MS)
            .finally(stopTelling)
            .catch(() => {});
        return { runId: childId, sessionId };
      } catch (error) {
        stopTelling?.();
        throw error;
      }
    },
    follow({ runId, sessionId, createdAt }, known = []) {
      const reader = { ...live.read(runId), done: new AbortController() };
      pauses.next(runId, known, reader.done.signal).then(
        (waits) => {
          for (const interrupt of waits) reader.push({ type: 'interrupt', ...interrupt });
          if (waits.length > 0) reader.push({ type: 'finish', reason: 'interrupt' });
        },
        (error: unknown) => reader.push(toErrorEvent(error)),
      );
      return read(runId, sessionId, createdAt, reader);
    },
    async findOpenTurn(agent, sessionName) {
      findAgent(options, agent);
      const sessionId = sessions.idOf(agent, sessionName);
      const runs = await journal.listRuns({ sessionId }, { limit: 20 });
      // What it has other agents do are runs below it.
      return runs.find(({ status, parentRunId }) => !isFinal(status) && parentRunId === null);
    },
    async readOpenTurn(run) {
      const input = decode(run.input) as TurnInput;
      const [before, records] = await Promise.all([
        sessions.read(run.sessionId ?? '', input.session?.cutAfter),
        journal.getRecords(run.runId),
      ]);
      return [...before.messages, ...toRecordedMessages(run.runId, input, records)];
    },
    async checkArguments(agent, tool, args) {
      const definition = lookUp(catalog, agent);
      const found = definition && (await readTools(definition)).find(({ model }) => model.name === tool);
      if (found?.kind !== 'tool' || !found.inputSchema) return [];
      const parsed = await parseWith(found.inputSchema, args).catch((error: unknown) => toIssue(error));
      return parsed.ok ? [] : parsed.issues;
    },
    body: (run) => toBody(run, decode(run.input) as TurnInput),
    close: () => servers.close(),
  };
}

// --- internal ---

const LONGEST_TURN_MS = 2_147_483_647;
type TurnRun = Pick<RunRow, 'runId' | 'name' | 'sessionId' | 'parentRunId'>;
type TurnStart = Pick<StartRequest, 'trigger' | 'parentRunId' | 'idempotencyKey'>;

/** `done` aborts when nobody reads any more. */
interface Reader extends TurnReader {
  done: AbortController;
}

/** A check that broke off has refused. */
function toIssue(error: unknown): { ok: false; issues: Issue[] } {
  return { ok: false, issues: [{ path: [], message: error instanceof Error ? error.message : String(error) }] };
}
/** A reason, so that none is made for each turn: an AbortError takes its stack with it. */
const OVER = 'The turn has been told.';

function isPause({ kind }: JournalRecord): boolean {
  return kind === 'hook';
}

async function* untilEnd(
  { batches, close, done }: Reader,
  whenAsked: (approvalIds: string[]) => Promise<void>,
): AsyncGenerator<readonly TurnEvent[]> {
  const asked: string[] = [];
  try {
    for await (const batch of batches) {
      for (const event of batch) if (event.type === 'interrupt') asked.push(event.id);
      // Whoever is told may decide at once.
      if (batch.some((event) => event.type === 'finish' && event.reason === 'interrupt')) await whenAsked(asked);
      yield batch;
    }
  } finally {
    close();
    done.abort(OVER);
  }
}

/** The end of a run as its reader is told. */
function toEnd(row: RunRow | undefined): TurnEvent {
  if (row?.status === 'completed') {
    const { finishReason } = decode(row.output ?? '') as TurnOutput;
    return { type: 'finish', reason: finishReason };
  }
  if (row?.status === 'cancelled') return { type: 'finish', reason: 'cancelled' };
  return toErrorEvent(row?.error == null ? new Error('The turn is gone.') : decode(row.error));
}

function toInput(runId: string, request: TurnRequest, model: string): TurnInput {
  const { session, tools = [], parameters, outputSchema } = request;
  const isSystem = ({ role }: ChatMessage) => role === 'system' || role === 'developer';
  const short = runId.replaceAll('-', '');
  return {
    model,
    system: request.messages.filter(isSystem).map(({ content }) => textOf(content)),
    messages: request.messages
      .filter((message) => !isSystem(message))
      .map((message, index): ConversationMessage => ({ ...message, id: message.id ?? `in_${short}_${index + 1}` })),
    tools,
    parameters,
    ...(session?.kind === 'session'
      ? { session: { id: session.name, ...(session.cutAfter === undefined ? {} : { cutAfter: session.cutAfter }) } }
      : {}),
    ...(outputSchema ? { outputSchema } : {}),
  };
}

/** The text of a message, whose content may be a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => (part as { text?: unknown } | null)?.text)
    .filter((text) => typeof text === 'string')
    .join('\n');
}

async function instructionsOf(agent: DeepAgentDefinition): Promise<string | undefined> {
  if (typeof agent.instructions !== 'function') return agent.instructions;
  return agent.instructions({ agent: agent.name, now: new Date() });
}

function lookUp(catalog: Catalog, runName: string): DeepAgentDefinition | undefined {
  const { agent, subagent } = splitName(runName);
  const definition = catalog.findAgent(agent)?.definition;
  return subagent === undefined ? definition?.agent : definition?.subagents.get(subagent);
}

function findAgent(options: AgentsOptions, runName: string): AgentDefinition {
  const { agent: name, subagent } = splitName(runName);
  const found = findOwnAgent(options, name);
  if (subagent === undefined) return found;
  const agent = found.subagents.get(subagent);
  if (agent) return { ...found, agent };
  throw new BoxError('agent_not_found', `Agent "${name}" has no sub-agent "${subagent}" any more.`);
}

function findOwnAgent({ catalog, isArmed }: AgentsOptions, name: string): AgentDefinition {
  if (!isArmed())
    throw new BoxError(
      'agent_runtime_not_armed',
      'Agents are held back until a model provider is set. Set MODEL_PROVIDER_BASE_URL, or send PUT /api/model-provider.',
    );
  const found = catalog.findAgent(name);
  if (!found)
    throw agentNotFound(
      name,
      catalog.agents().map(({ entry }) => entry.name),
    );
  if (found.definition) return found.definition;
  const { problem } = found;
  throw new BoxError(
    'agent_load_failed',
    `Agent "${name}" does not load. ${problem?.file}:${problem?.line}: ${problem?.message}`,
    {
      details: { problem },
    },
  );
}
