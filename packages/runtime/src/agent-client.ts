import { createHash } from 'node:crypto';
import { startOrAnew, toStartCall, toStartKey, toWaitCall } from './engine/primitives/child-workflow.ts';
import { currentContext } from './engine/context.ts';
import type { EngineContext } from './engine/context.ts';
import type { AgentMessage, StartedTurn } from './engine/handle.ts';
import { digestOf } from './engine/serialize.ts';
import { encodeGiven } from './engine/values/given.ts';
import { TURN_BYTES } from './engine/values/size.ts';
import { parseWith, toJsonSchema } from './schema/schema.ts';
import type { AnySchema, OutputOf } from './schema/schema.ts';
import type { AgentRegister } from './register.ts';
import { createTextPump } from './text-pump.ts';

/** What an agent answered. */
export interface AgentAnswer<O> {
  text: string;
  /** The answer by its schema; undefined: none was asked for. */
  output: O;
  /** The run of the turn. */
  runId: string;
  /** The conversation, as `GET /api/runs?sessionId=` knows it. */
  sessionId: string | null;
}

export interface SendOptions<S extends AnySchema | undefined> {
  /** The answer is JSON that this schema takes. Default: the agent's own `output`, if it has one. */
  schema?: S;
  /**
   * In a step or a tool: is written the agent's text as it comes, piece by piece, and left open. `getWritable()` sends it
   * on to whoever reads the run. An attempt that is repeated after a crash writes again.
   */
  writable?: WritableStream<string>;
}

/** A conversation with an agent. */
export interface AgentSession<O> {
  /**
   * Says something and answers what the agent said, with all it did in between. The turn is a run below this one and is
   * cancelled with it. One turn at a time: a second `send` before the first is answered is refused.
   */
  send<S extends AnySchema | undefined = undefined>(
    message: string,
    options?: SendOptions<S>,
  ): Promise<AgentAnswer<S extends AnySchema ? OutputOf<S> : O>>;
}

/** What the answers of an agent are, by its own declaration. */
export type AnswerOf<N extends string> = N extends keyof AgentRegister
  ? AgentRegister[N] extends { output?: infer S }
    ? [NonNullable<S>] extends [never]
      ? undefined
      : OutputOf<NonNullable<S>>
    : unknown
  : unknown;

/** @param id names the conversation; the same name goes on with it in any run. Default: a new one */
export function openSession<O>(agent: string, id?: string): AgentSession<O> {
  if (id !== undefined && (typeof id !== 'string' || id === '' || id.length > MAX_NAME))
    throw new TypeError(`The id of a session must be a text of 1 to ${MAX_NAME} characters.`);
  const session = id ?? newName(contextOf('session'));
  return {
    async send(message, { schema, writable } = {}) {
      const text = await answerOf({ agent, message, session }, { schema, writable });
      return text as never;
    },
  };
}

// --- internal ---

const MAX_NAME = 256;

function contextOf(caller: string): EngineContext {
  const context = currentContext();
  if (!context) throw new Error(`svc.agent().${caller}() works in a workflow, a step or a tool.`);
  return context;
}

/** The same however often the code is repeated. */
function newName(context: EngineContext): string {
  const seed =
    context.kind === 'step'
      ? toStartKey(context, 'session')
      : `${context.execution.world.random()} ${context.execution.world.random()}`;
  return createHash('sha256').update(seed).digest('hex').slice(0, 32);
}

async function answerOf(
  message: AgentMessage,
  { schema, writable }: { schema: AnySchema | undefined; writable: WritableStream<string> | undefined },
): Promise<AgentAnswer<unknown>> {
  if (typeof message.message !== 'string' || message.message === '')
    throw new TypeError('send() needs a message: a text that is not empty.');
  const context = contextOf('send');
  const withSchema = async (): Promise<AgentMessage> =>
    schema ? { ...message, outputSchema: await toJsonSchema(schema, 'input') } : message;
  const { started, output } =
    context.kind === 'body'
      ? await sendFromBody(context, { message, withSchema, writable })
      : await sendFromStep(context, { message: await withSchema(), writable });
  const { runId, sessionId } = started;
  return { text: output.content, output: await parseOutput(schema, output.output), runId, sessionId };
}

interface Answered {
  started: StartedTurn;
  output: { content: string; output?: unknown };
}

interface Sending {
  message: AgentMessage;
  writable: WritableStream<string> | undefined;
}

async function sendFromBody(
  { execution }: Extract<EngineContext, { kind: 'body' }>,
  { message, withSchema, writable }: Sending & { withSchema(): Promise<AgentMessage> },
): Promise<Answered> {
  if (writable) throw new Error('A workflow body cannot write to a stream. Call send() with "writable" in a step.');
  const { ambient, run: parent } = execution;
  const name = `agent ${message.agent}`;
  const { agent: _named, ...input } = message;
  const start = toStartCall(execution, { name, input }, async ({ idempotencyKey }) => {
    const asked = await withSchema();
    return startOrAnew(execution, idempotencyKey, (key) => ambient.startTurn(asked, { parent, idempotencyKey: key }));
  });
  const started = (await execution.invoke(start)) as StartedTurn;
  const output = await execution.invoke(toWaitCall(name, { runId: started.runId }));
  return { started, output: output as Answered['output'] };
}

async function sendFromStep(
  context: Extract<EngineContext, { kind: 'step' }>,
  { message, writable }: Sending,
): Promise<Answered> {
  const { ambient, run: parent } = context.execution;
  const said = digestOf(encodeGiven(message, 'message', TURN_BYTES));
  const idempotencyKey = toStartKey(context, `agent ${message.agent}:${said}`);
  const pump = writable ? createTextPump(writable) : undefined;
  try {
    const reading = pump ? { onText: pump.push } : {};
    const started = await startOrAnew(context.execution, idempotencyKey, (key) =>
      ambient.startTurn(message, { parent, idempotencyKey: key, ...reading }),
    );
    const output = (await ambient.waitForRun({ status: 'started', runId: started.runId })) as Answered['output'];
    // A turn that ran elsewhere, or before this attempt, has streamed nothing here.
    if (pump && !pump.hasWritten()) pump.push(output.content);
    await pump?.end();
    return { started, output };
  } finally {
    pump?.release();
  }
}

async function parseOutput(schema: AnySchema | undefined, output: unknown): Promise<unknown> {
  if (!schema) return output;
  const parsed = await parseWith(schema, output);
  if (parsed.ok) return parsed.value;
  const issues = parsed.issues.map(({ path, message }) => `${path.join('.') || 'answer'}: ${message}`).join('; ');
  throw Object.assign(new Error(`The answer does not fit the schema. ${issues}`), {
    code: 'agent_output_invalid',
    fatal: true,
  });
}
