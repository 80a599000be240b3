import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import type { Body } from '../engine/execution.ts';
import { BoxError, ERROR_STATUS } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import type { TurnEvent } from '../wires/events.ts';
import { createEventQueue } from '../wires/events.ts';
import type { DeepAgentDefinition } from './definition.ts';
import type { ChatMessage } from './messages.ts';
import type { CallModel, ModelTool } from './model.ts';
import { toModelTools } from './tools.ts';
import { runTurn } from './turn.ts';

export interface TurnRequest {
  agent: string;
  messages: ChatMessage[];
  parameters: Record<string, unknown>;
}

export interface RunningTurn {
  runId: string;
  startedAt: number;
  events: AsyncIterable<TurnEvent>;
  /** The client went away: a stateless turn is cancelled. */
  cancel(): void;
}

export interface Agents {
  names(): string[];
  /** Begins a turn as a run. Throws before anything is recorded when the agent cannot answer. */
  startTurn(request: TurnRequest): Promise<RunningTurn>;
}

export interface AgentsOptions {
  catalog: Catalog;
  engine: Engine;
  callModel: CallModel;
  isArmed(): boolean;
  defaultModel(): string | undefined;
}

export function createAgents(options: AgentsOptions): Agents {
  const { catalog, engine } = options;
  // By definition, so that an agent that was edited is read again.
  const tools = new WeakMap<DeepAgentDefinition, Promise<ModelTool[]>>();
  const readTools = (agent: DeepAgentDefinition): Promise<ModelTool[]> => {
    const known = tools.get(agent) ?? toModelTools(agent);
    tools.set(agent, known);
    return known;
  };
  return {
    names: () => catalog.agents().map(({ entry }) => entry.name),
    async startTurn({ agent: name, messages, parameters }) {
      const { agent, codeHash } = findAgent(options, name);
      const model = agent.model ?? options.defaultModel();
      if (!model)
        throw new BoxError(
          'model_not_selected',
          `No model is selected for agent "${name}". Set "model" in defineDeepAgent, or a default in svc.config.ts.`,
        );
      const { push, events } = createEventQueue();
      const started = await engine.start({
        kind: 'agent',
        name,
        trigger: 'chat',
        input: { messages },
        body: {
          codeHash,
          durability: 'synced',
          run: () =>
            runTurn({
              agent,
              model,
              messages,
              parameters,
              readTools: () => readTools(agent),
              callModel: options.callModel,
              emit: push,
            }).catch((error: unknown) => {
              push(toErrorEvent(error));
              throw error;
            }),
        },
      });
      if (started.outcome !== 'created') throw new Error(`The start of a turn was ${started.outcome}.`);
      const { run } = started;
      return {
        runId: run.runId,
        startedAt: run.createdAt,
        events,
        cancel() {
          push({ type: 'finish', reason: 'cancelled' });
          engine.cancel(run.runId, clientGone()).catch(() => {});
        },
      };
    },
  };
}

/** A stateless turn found in the journal after a restart: its client is gone, so it ends as the client's leaving would end it. */
export function abandonedTurn(): Body {
  return { codeHash: '', durability: 'process', abandoned: clientGone(), run: () => Promise.reject(clientGone()) };
}

export function agentNotFound(name: string, names: readonly string[]): BoxError {
  const real = names.map((known) => `"${known}"`).join(', ') || 'none';
  return new BoxError('agent_not_found', `There is no agent "${name}". This box has ${real}.`);
}

// --- internal ---

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

/** Told by name: an error that went through the journal is a plain Error with the name, code and status it had. */
function toErrorEvent(thrown: unknown): TurnEvent {
  const error = thrown as { name?: unknown; status?: number; code?: string; message?: string; cause?: unknown };
  const { status = 502, code = 'model_provider_failed', message = '' } = error;
  if (error.name === 'ProviderError') {
    const { retryAfter } = (error.cause ?? {}) as { retryAfter?: number };
    const retryable = status === 429 || status >= 500;
    return { type: 'error', status, code, message, retryable, ...(retryAfter === undefined ? {} : { retryAfter }) };
  }
  if (error.name === 'BoxError') {
    const known = toBoxError(error);
    return { type: 'error', status: known.status, code: known.code, message, retryable: false };
  }
  return { type: 'error', status: 500, code: 'internal', message: 'The turn failed inside the box.', retryable: false };
}

/** A BoxError that went through the journal, as it was. */
function toBoxError(error: { code?: string; message?: string }): BoxError {
  const code = error.code !== undefined && error.code in ERROR_STATUS ? (error.code as ErrorCode) : 'internal';
  return new BoxError(code, error.message ?? '');
}

function clientGone(): Error {
  return Object.assign(new Error('The client of this stateless turn went away.'), { code: 'client_gone' });
}
