import { createAgent } from './client/agent.ts';
import type { ClientAgent, JsonOf } from './client/agent.ts';
import type { StreamFrames } from './client/frames.ts';
import { readEvents } from './client/read-events.ts';
import { createSender } from './client/send.ts';
import type { CallOptions, ClientOptions } from './client/send.ts';
import { createWorkflow } from './client/workflow.ts';
import type { TypedWorkflow } from './client/workflow.ts';
import type { KnownAgent } from './definitions/agent.ts';
import type { KnownWorkflow } from './register.ts';
import type { OperationTypes } from './surface/index.ts';

export { ClientError, ClientRunError } from './client/errors.ts';
export type { AgentDecision, AgentEvent, AgentInterrupt, AgentSession, AgentTurn } from './client/agent.ts';
export type { ClientAgent, SendOptions } from './client/agent.ts';
export type { Frame } from './client/frames.ts';
export type { Json } from './client/json.ts';
export type { CallOptions, ClientOptions } from './client/send.ts';
export type { ClientRun, ClientWorkflow, ManyStart, ManyStarted } from './client/workflow.ts';
export type { StartManyOptions, StartOptions, WaitOptions } from './client/workflow.ts';
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
  agent<N extends KnownAgent>(name: N): ClientAgent<JsonOf<N>>;
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
      ? [input?: OperationInput<Id>, options?: CallOptions]
      : [input: OperationInput<Id>, options?: CallOptions]
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
      for await (const { data, ...event } of readEvents(body)) yield { ...event, data: JSON.parse(data) } as never;
    },
  };
}
