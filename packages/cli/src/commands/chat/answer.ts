import { openClient, toSegment } from '../../client/client.ts';
import type { Client } from '../../client/client.ts';
import type { TargetNames } from '../../client/target.ts';
import type { Context } from '../../context.ts';
import { CliError, findSuggestion } from '../../errors.ts';
import { findNearest } from '../../nearest.ts';
import type { StreamRecord } from '../../verb.ts';
import { listPauses, runTurn } from './events.ts';
import type { ChatEvent, Pause, TurnRequest } from './events.ts';
import { createShow } from './show.ts';

/** A session of an agent, and who talks with it. */
export interface Talk {
  client: Client;
  context: Context;
  target: TargetNames;
  agent: string;
  session: string;
}

/** One turn. Answers what waits for a decision at its end. Ctrl-C cancels it. */
export async function* answer(
  { client, context, target, agent, session }: Talk,
  request: Pick<TurnRequest, 'text' | 'decisions'>,
): AsyncGenerator<StreamRecord, readonly Pause[]> {
  const show = createShow({ recaps: request.text === undefined && request.decisions === undefined });
  let pauses: readonly Pause[] = [];
  let runId: string | undefined;
  let isOpen = false;
  try {
    for await (const event of runTurn(client, { agent, session, ...request })) {
      runId = runIdOf(event) ?? runId;
      const waiting = listPauses(event);
      pauses = waiting.map((pause) => ({
        ...pause,
        isShown: waiting.length === 1 && pause.toolCallId !== undefined && show.endsWith(pause.toolCallId),
      }));
      if (event.type === 'RUN_ERROR') throw toError(event);
      const record = toRecord(event, show, context);
      if (record) yield record;
      isOpen = record?.isOpen === true;
    }
  } catch (error) {
    // What is said of the end does not stand behind half a sentence.
    if (isOpen && !context.json) yield { data: {}, human: () => '\n' };
    if (!context.signal.aborted) throw await toNamed(error, client, agent);
    if (runId !== undefined) await cancel(target, context, runId);
  }
  return pauses;
}

// --- internal ---

function toRecord(event: ChatEvent, show: ReturnType<typeof createShow>, context: Context): StreamRecord | undefined {
  const shown = show(event);
  if (context.json) return { data: event, human: () => undefined };
  if (!shown) return undefined;
  // A pipe is given the answer alone.
  if (shown.part === 'aside' && !context.mayAsk) {
    context.say(shown.text(PLAIN));
    return undefined;
  }
  return { data: event, human: shown.text, ...(shown.isOpen ? { isOpen: true } : {}) };
}

const PLAIN = { dim: (text: string) => text, ellipsis: '...', columns: undefined };

function runIdOf({ metadata }: ChatEvent): string | undefined {
  return (metadata as { svc?: { runId?: string } } | undefined)?.svc?.runId;
}

function toError({ code, message, ...event }: ChatEvent): CliError {
  const runId = runIdOf(event as ChatEvent);
  // The code may be that of the provider, which no table here has, or which means something else here.
  const own = findSuggestion(String(code));
  const isOfProvider = String(message).startsWith('The model provider ');
  const known = own !== undefined && isOfProvider ? findSuggestion('model_provider_failed') : own;
  const suggestion = known ?? (runId && `See what was asked with: svc why ${runId}`);
  return new CliError(String(code), String(message), suggestion === undefined ? {} : { suggestion });
}

/** An agent that is not there, with the name that was meant. */
async function toNamed(error: unknown, client: Client, agent: string): Promise<unknown> {
  if (!(error instanceof CliError) || !['agent_not_found', 'model_not_found'].includes(error.code)) return error;
  const items = await client.list<{ name: string }>('/api/catalog', { kind: 'agent' }).catch(() => []);
  const near = findNearest(
    agent,
    items.map(({ name }) => name),
  );
  const suggestion = near ? `Did you mean "${near}"?` : 'Run `svc catalog list --kind agent` to see them.';
  return new CliError(error.code, error.message, { suggestion, exitCode: error.exitCode });
}

async function cancel(target: TargetNames, context: Context, runId: string): Promise<void> {
  const client = openClient(target, { ...context, signal: AbortSignal.timeout(5_000) });
  try {
    await client.post(`/api/runs/${toSegment(runId)}/cancel`, {});
    context.say('The answer is cancelled.');
  } catch (error) {
    context.say(`The agent goes on with its answer in the box: ${error instanceof Error ? error.message : 'unknown'}`);
  }
}
