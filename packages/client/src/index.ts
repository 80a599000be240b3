import { createAgent } from './agent.ts';
import type { ClientAgent } from './agent.ts';
import type { OperationTypes, StreamFrames } from './operations.ts';
import { readEvents } from './read-events.ts';
import type { AgentJson, KnownAgent, KnownWorkflow } from './register.ts';
import { createSender } from './send.ts';
import type { CallOptions, ClientOptions, StreamOptions } from './send.ts';
import { createWorkflow } from './workflow.ts';
import type { TypedWorkflow } from './workflow.ts';

export { ClientError, ClientRunError } from './errors.ts';
export type { AgentDecision, AgentEvent, AgentInterrupt, AgentSession, AgentTurn } from './agent.ts';
export type { ClientAgent, SendOptions } from './agent.ts';
export type { Frame } from './frame.ts';
export type { Json, JsonOutput } from './json.ts';
export type {
  AgentJson,
  AgentName,
  AgentRegister,
  KnownAgent,
  KnownWorkflow,
  WorkflowInput,
  WorkflowName,
  WorkflowOutput,
  WorkflowRegister,
  WorkflowState,
} from './register.ts';
export type { CallOptions, ClientOptions, StreamOptions } from './send.ts';
export type { ClientRun, ClientWorkflow, ManyStart, ManyStarted } from './workflow.ts';
export type { StartManyOptions, StartOptions, WaitOptions } from './workflow.ts';
export { explainUnknown } from './similar.ts';
export type { InputOf } from './schema.ts';
export { signUserToken } from './sign-user-token.ts';
export type { UserTokenClaims, UserTokenKey } from './sign-user-token.ts';

type IdsOf<Answer> = {
  [Id in keyof OperationTypes]: OperationTypes[Id]['answer'] extends Answer ? Id : never;
}[keyof OperationTypes];
/** Operations that answer once. */
export type OperationId = IdsOf<'json'>;
/** Operations that answer an event stream. */
export type StreamId = IdsOf<'sse'>;
export type OperationInput<Id extends keyof OperationTypes> = OperationTypes[Id]['input'];
export type OperationOutput<Id extends keyof OperationTypes> = OperationTypes[Id]['output'];
/** The frames of a stream; `event` says which it is. */
export type StreamEvent<Id extends StreamId = StreamId> = StreamFrames[Id];

/** A box over HTTP: its workflows and agents by name, and every operation by its id. */
export interface Client {
  /** A workflow by its name, with the types that `svc dev` has generated. */
  workflow<N extends KnownWorkflow>(name: N): TypedWorkflow<N>;
  /** Events by their names. `id`: the same one with the same payload is one event, for 24 hours. */
  events: {
    send(
      name: string,
      payload?: unknown,
      options?: CallOptions & { id?: string },
    ): Promise<OperationOutput<'events.send'>>;
  };
  /** An agent by its name, over AG-UI. */
  agent<N extends KnownAgent>(name: N): ClientAgent<AgentJson<N>>;
  /**
   * What the operation answers. Path, query and body members are one object, as they are for MCP. Throws `ClientError` for a
   * refusal.
   */
  call<Id extends OperationId>(
    id: Id,
    ...args: Record<never, never> extends OperationInput<Id>
      ? [input?: OperationInput<Id>, options?: CallOptions]
      : [input: OperationInput<Id>, options?: CallOptions]
  ): Promise<OperationOutput<Id>>;
  /** The frames of a stream, until the box or the caller ends it. */
  stream<Id extends StreamId>(
    id: Id,
    ...args: Record<never, never> extends OperationInput<Id>
      ? [input?: OperationInput<Id>, options?: StreamOptions]
      : [input: OperationInput<Id>, options?: StreamOptions]
  ): AsyncIterable<StreamEvent<Id>>;
}

export function createClient(options: ClientOptions): Client {
  const send = createSender(options);
  return {
    workflow: (name) => createWorkflow(send, name),
    events: {
      async send(name, payload = {}, { id, ...call } = {}) {
        return (await send.operation('events.send', { name, payload, idempotencyKey: id }, call)).json() as never;
      },
    },
    agent: (name) => createAgent(send, name),
    call: async (id, ...[input, call]) => (await send.operation(id, input as object, call)).json() as never,
    async *stream(id, ...[input, call]) {
      const { body } = await send.operation(id, input as object, call);
      if (!body) return;
      call?.onAlive?.();
      for await (const { data, ...event } of readEvents(body, { onPiece: call?.onAlive, onId: call?.onId }))
        yield { ...event, data: JSON.parse(data) } as never;
    },
  };
}
