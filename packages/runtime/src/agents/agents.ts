import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import type { Body } from '../engine/execution.ts';
import { newRunId } from '../engine/ids.ts';
import { isFinal } from '../engine/journal.ts';
import type { JournalRecord, RunRow } from '../engine/journal.ts';
import { decode } from '../engine/serialize.ts';
import { BoxError } from '../errors.ts';
import type { SessionKind, Sessions } from '../sessions/sessions.ts';
import type { TurnEvent } from '../wires/events.ts';
import type { DeepAgentDefinition } from './definition.ts';
import { agentNotFound, clientGone, toErrorEvent } from './agent-errors.ts';
import { createLiveTurns } from './live-turns.ts';
import type { TurnReader } from './live-turns.ts';
import type { ChatMessage } from './messages.ts';
import type { CallModel } from './model.ts';
import { createToolset, toBoxTools } from './toolset.ts';
import type { BoxTool } from './toolset.ts';
import type { ClientTool, ConversationMessage, TurnInput } from './turn-input.ts';
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
  events: AsyncIterable<TurnEvent>;
  /** The client went away: a stateless turn is cancelled, one on a session runs on. */
  leave(): void;
}

export interface Agents {
  names(): string[];
  /** Begins a turn as a run. Throws before anything is recorded when the agent cannot answer. */
  startTurn(request: TurnRequest): Promise<RunningTurn>;
  /** Reads on where a turn that waited for a person goes on: call it before what it waits for is decided. */
  follow(run: RunRow): RunningTurn;
  /** The turn a session has not ended, if there is one. */
  findOpenTurn(agent: string, sessionName: string): Promise<RunRow | undefined>;
  /** The code of a turn that goes on in this process. */
  body(run: RunRow): Promise<Body>;
}

export interface AgentsOptions {
  catalog: Catalog;
  engine: Engine;
  sessions: Sessions;
  /** The runs of a session, newest first. */
  listRuns(sessionId: string): Promise<RunRow[]>;
  callModel: CallModel;
  isArmed(): boolean;
  defaultModel(): string | undefined;
}

export function createAgents(options: AgentsOptions): Agents {
  const { catalog, engine, sessions } = options;
  const live = createLiveTurns();
  // By definition, so that an agent that was edited is read again.
  const tools = new WeakMap<DeepAgentDefinition, Promise<BoxTool[]>>();
  const readTools = (agent: DeepAgentDefinition): Promise<BoxTool[]> => {
    const known = tools.get(agent) ?? toBoxTools(agent);
    tools.set(agent, known);
    return known;
  };

  const toBody = async (run: Pick<RunRow, 'runId' | 'name' | 'sessionId'>, input: TurnInput): Promise<Body> => {
    const { agent, codeHash } = findAgent(options, run.name);
    const toolset = createToolset(await readTools(agent), input.tools);
    const { runId, sessionId } = run;
    const { session } = input;
    let history: ConversationMessage[] = [];
    let state = NO_STATE;
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
          ({ messages: history, state } = await sessions.read(sessionId, session.cutAfter));
      },
      run: async () =>
        runTurn({
          agent,
          input,
          instructions: await instructionsOf(agent),
          history,
          state,
          toolset,
          callModel: options.callModel,
          emit: live.emitterOf(runId),
          ...(sessionId === null ? {} : { save: (added) => save(sessionId, added) }),
        }),
      // Whoever waited for a stateless turn went with the process. One that waits for a person has told its client so.
      ...(session ? {} : { whenFound: (records) => (records.some(isPause) ? undefined : clientGone()) }),
    };
  };

  const read = (runId: string, sessionId: string | null, startedAt: number, reader: TurnReader): RunningTurn => {
    const done = new AbortController();
    const finish = (event: TurnEvent): void => {
      reader.push(event);
      done.abort();
    };
    void engine
      .wait(runId, LONGEST_TURN_MS, done.signal)
      .then((row) => !done.signal.aborted && finish(toEnd(row)))
      .catch((error: unknown) => finish(toErrorEvent(error)));
    return {
      runId,
      sessionId,
      startedAt,
      events: untilEnd(reader, done),
      leave() {
        finish({ type: 'finish', reason: 'cancelled' });
        if (sessionId === null) engine.cancel(runId, clientGone()).catch(() => {});
      },
    };
  };

  return {
    names: () => catalog.agents().map(({ entry }) => entry.name),
    async startTurn(request) {
      const { agent: name, session } = request;
      const { agent } = findAgent(options, name);
      const model = agent.model ?? options.defaultModel();
      if (!model)
        throw new BoxError(
          'model_not_selected',
          `No model is selected for agent "${name}". Set "model" in defineDeepAgent, or a default in svc.config.ts.`,
        );
      const runId = newRunId();
      const input = toInput(runId, request, model);
      const sessionId = session ? await sessions.open({ agent: name, name: session.name, kind: session.kind }) : null;
      const body = await toBody({ runId, name, sessionId }, input);
      const reader = live.read(runId);
      try {
        const started = await engine.start({
          runId,
          kind: 'agent',
          name,
          trigger: 'chat',
          input,
          body,
          ...(sessionId === null ? {} : { sessionId }),
          ...(input.session ? { serial: { key: `session ${sessionId}`, whenTaken: 'refuse' as const } } : {}),
        });
        if (started.outcome === 'refused') throw turnOpen(started.holder);
        if (started.outcome !== 'created') throw new Error(`The start of a turn was ${started.outcome}.`);
        return read(runId, input.session ? sessionId : null, started.run.createdAt, reader);
      } catch (error) {
        reader.close();
        throw error;
      }
    },
    follow: ({ runId, sessionId, createdAt }) => read(runId, sessionId, createdAt, live.read(runId)),
    async findOpenTurn(agent, sessionName) {
      const sessionId = sessions.idOf(agent, sessionName);
      return (await options.listRuns(sessionId)).find(({ status }) => !isFinal(status));
    },
    body: (run) => toBody(run, decode(run.input) as TurnInput),
  };
}

// --- internal ---

const LONGEST_TURN_MS = 2_147_483_647;

function isPause({ kind }: JournalRecord): boolean {
  return kind === 'hook';
}

async function* untilEnd(reader: TurnReader, done: AbortController): AsyncGenerator<TurnEvent> {
  try {
    yield* reader.events;
  } finally {
    reader.close();
    done.abort();
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

function turnOpen(holder: RunRow): BoxError {
  const { runId } = holder;
  const waitsFor = holder.waitingFor === null ? undefined : (JSON.parse(holder.waitingFor) as { type?: string }).type;
  if (waitsFor === 'approval')
    return new BoxError(
      'approval_pending',
      'A tool call of this session waits for a person. Decide it with POST /api/approvals/:id/decide, then go on.',
      { details: { runId } },
    );
  return new BoxError('turn_in_progress', 'A turn of this session has not ended. Wait for its answer, then go on.', {
    details: { runId },
  });
}

async function instructionsOf(agent: DeepAgentDefinition): Promise<string | undefined> {
  if (typeof agent.instructions !== 'function') return agent.instructions;
  return agent.instructions({ agent: agent.name, now: new Date() });
}

function findAgent({ catalog, isArmed }: AgentsOptions, name: string) {
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
