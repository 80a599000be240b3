import { openClient } from '../../client/client.ts';
import type { Client } from '../../client/client.ts';
import type { Context } from '../../context.ts';
import { CliError, EXIT, usageError } from '../../errors.ts';
import { open, string } from '../../payload/payload.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import type { StreamRecord } from '../../verb.ts';
import { answer } from './answer.ts';
import type { Talk } from './answer.ts';
import { decideAll } from './decide.ts';
import { readPauses } from './events.ts';
import type { Decision, Pause } from './events.ts';

export const chat = defineVerb({
  examples: ['svc chat support', 'svc chat support "Where is my order?" --session order-7'],
  args: {
    name: { type: 'positional', required: false, description: 'The agent. May be left out where there is one.' },
    message: {
      type: 'positional',
      required: false,
      description: 'What to say. Without it: what a pipe brings, or a conversation on the terminal.',
    },
    session: {
      type: 'string',
      valueHint: 'name',
      description: 'The session to begin or to go on with. Default: a new one.',
    },
    ...TARGET_ARGS,
  },
  completes: { name: { names: ['agents'] } },
  payload: open({ type: string('What happens, an event of AG-UI: docs/guide/clients.md has them.') }),
  isStream: true,
  async run({ name, message, session, ...target }, context) {
    if ((session?.length ?? 0) > LONGEST_SESSION)
      throw usageError(`--session may have ${LONGEST_SESSION} characters.`, 'Take a shorter name.');
    const client = openClient(target, context);
    const text = message ?? (await readPipe(context));
    const agent = name ?? (await chooseAgent(client));
    const talk: Talk = {
      client,
      context,
      target,
      agent,
      session: session ?? `chat-${crypto.randomUUID().slice(0, 8)}`,
    };
    const stream = text === undefined ? converse(talk, { isNew: session === undefined }) : say(talk, text);
    return { data: { type: 'end' }, human: () => '', stream };
  },
});

// --- internal ---

const LONGEST_SESSION = 256;

/** Undefined: a person is to type it. */
async function readPipe(context: Context): Promise<string | undefined> {
  if (context.mayAsk) return undefined;
  const text = (await context.readStdin())?.trim();
  if (text) return text;
  throw usageError('"svc chat" has nothing to say.', 'For example: svc chat support "Where is my order?"');
}

async function chooseAgent(client: Client): Promise<string> {
  const names = (await client.list<{ name: string }>('/api/catalog', { kind: 'agent' })).map((item) => item.name);
  const [only] = names;
  if (names.length === 1 && only !== undefined) return only;
  if (names.length === 0) throw usageError('There is no agent to talk with.', 'Make one: svc add agent support.');
  throw usageError('"svc chat" needs <name>: there are several agents.', `Use one of: ${names.join(', ')}.`);
}

/** One message, and its answer. */
async function* say(talk: Talk, text: string): AsyncGenerator<StreamRecord> {
  const { context, agent, session } = talk;
  const pauses = yield* answer(talk, { text });
  if (pauses.length === 0) return;
  if (context.mayAsk) return yield* untilDecided(talk, pauses);
  const [{ id, message } = { id: '', message: '' }] = pauses;
  throw new CliError('decision_needed', `The agent waits for a decision: ${message}`, {
    suggestion: `Run \`svc hitl approve ${id}\`, then \`svc chat ${agent} --session ${session}\`.`,
    details: { session, approvals: pauses.map((pause) => pause.id) },
  });
}

async function* converse(talk: Talk, { isNew }: { isNew: boolean }): AsyncGenerator<StreamRecord> {
  const { context, agent, session } = talk;
  context.say(`You talk with ${agent}. /exit or Ctrl-D ends the conversation.`);
  if (!isNew) yield* reopen(talk);
  let isUsed = !isNew;
  for (;;) {
    const text = await readMessage(context);
    if (text === undefined) break;
    if (text === '') continue;
    isUsed = true;
    try {
      yield* untilDecided(talk, yield* answer(talk, { text }));
    } catch (error) {
      if (!(error instanceof CliError) || error.exitCode !== EXIT.generic) throw error;
      context.say(`${error.message} ${error.suggestion}`.trim());
    }
  }
  if (isUsed) context.say(`Go on with it: svc chat ${agent} --session ${session}`);
}

/** Undefined: the person leaves. */
async function readMessage(context: Context): Promise<string | undefined> {
  try {
    const text = (await context.ask('\n> ')).trim();
    return text === '/exit' ? undefined : text;
  } catch (error) {
    if (error instanceof CliError && error.exitCode === EXIT.interrupted) return undefined;
    throw error;
  }
}

/** What was said before, or what waits for a decision. */
async function* reopen(talk: Talk): AsyncGenerator<StreamRecord> {
  try {
    yield* answer(talk, {});
  } catch (error) {
    // Nothing has been said in it.
    if (error instanceof CliError && error.code === 'invalid_request') return;
    yield* untilDecided(talk, await readPauses(talk.client, error));
  }
}

async function* untilDecided(talk: Talk, pauses: readonly Pause[]): AsyncGenerator<StreamRecord> {
  let waiting = pauses;
  while (waiting.length > 0) {
    const decisions: Decision[] = await decideAll(waiting, talk.context);
    waiting = yield* answer(talk, { decisions });
  }
}
