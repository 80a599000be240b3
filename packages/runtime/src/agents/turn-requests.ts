import { chargedBy, requirePermission, toStartedBy } from '../auth/caller.ts';
import { newRunId } from '../engine/ids.ts';
import type { Journal } from '../engine/journal.ts';
import { SerializationError } from '../engine/serialize.ts';
import { BoxError } from '../errors.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import type { AgentTools } from './agent-tools.ts';
import { copilotDisabled } from './copilot.ts';
import { restoreCalls } from './continued-turns.ts';
import type { TurnFiles } from './files/turn-files.ts';
import type { AgentFinder } from './find-agent.ts';
import { judgeTurnInput } from './judge-input.ts';
import type { TurnGuardrails } from './judge-input.ts';
import type { TurnReaders } from './reading/readers.ts';
import { toStartKey } from './reading/repeats.ts';
import type { Repeats } from './reading/repeats.ts';
import type { RunningTurn } from './reading/running-turn.ts';
import { ownerFor } from './threads/owner.ts';
import type { TurnInput } from './turn/input.ts';
import { toTurnInput } from './turn/request.ts';
import type { TurnRequest } from './turn/request.ts';
import { BOX_OWNER } from './turn/session-store.ts';
import type { SessionOwner, SessionStore } from './turn/session-store.ts';
import { namesInChoice, requireChosenTools } from './turn/tool-choice.ts';
import { createToolset } from './turn/toolset.ts';
import type { TurnLimits } from './turn-limits.ts';
import type { TurnStarts } from './turn-starts.ts';

export interface TurnRequestsOptions {
  journal: Pick<Journal, 'getRun' | 'getRecords' | 'hooks' | 'listRuns'>;
  sessions: SessionStore;
  finder: AgentFinder;
  tools: AgentTools;
  repeats: Repeats;
  readers: TurnReaders;
  starts: TurnStarts;
  limits: TurnLimits;
  guardrails?: TurnGuardrails | undefined;
  files: Pick<TurnFiles, 'prepare'>;
  isCopilotEnabled?(): Promise<boolean>;
}

/** Begins a turn as a run, as a client asks for it. Throws before anything is recorded when the agent cannot answer. */
export function createTurnRequests(options: TurnRequestsOptions): (request: TurnRequest) => Promise<RunningTurn> {
  const { journal, sessions, finder, tools, repeats, readers, starts, limits, guardrails } = options;

  const listNames = async (name: string, input: TurnInput): Promise<string[]> => {
    const { agent } = finder.get(name);
    const { tools: own } = await tools.list(agent);
    return createToolset(agent, own, input.tools).model.map((tool) => tool.name);
  };

  const restored = async (request: TurnRequest): Promise<TurnRequest['messages']> => {
    const { continues: runId, messages, agent, caller } = request;
    if (runId === undefined) return messages;
    return restoreCalls(journal, { runId, messages, agent, caller, ...askerOf(request) });
  };

  /** Files are kept once their session is there, so that no sweep takes them, and before the turn is, so that it has them. */
  const keepFiles = async (request: TurnRequest, { input, owner }: AskedTurn): Promise<TurnInput> => {
    const { agent, session } = request;
    const place = session && input.session ? { agent, name: session.name, owner } : undefined;
    const { messages, put } = await options.files.prepare(place && sessions.idOf(place), input.messages);
    if (place && put) {
      await sessions.open({ ...place, kind: 'session', ...askerOf(request) });
      await put();
    }
    return { ...input, messages };
  };

  /** Its run, and what the wire reads of it. */
  const begin = async (
    runId: string,
    request: TurnRequest,
    { input, owner }: { input: TurnInput; owner: SessionOwner },
  ): Promise<RunningTurn> => {
    const { agent: name, session, key, caller, trigger = 'chat', pinned = [] } = request;
    const asker = askerOf(request);
    const sessionId = session
      ? await sessions.open({
          agent: name,
          name: session.name,
          owner,
          kind: session.kind,
          isReadNext: input.session !== undefined,
          ...asker,
        })
      : null;
    const keptIn = input.session ? sessionId : null;
    const endsAlone = keptIn === null && key === undefined;
    const how = { isWhole: request.isWhole === true };
    const reader = readers.open(runId, {
      ...how,
      isAwaited: endsAlone,
      mayWaitBelow: (finder.find(name)?.subagents ?? []).length > 0,
    });
    try {
      const run = { runId, name, sessionId, parentRunId: null, startedBy: toColumn(caller) };
      const keyed = key ? { key: key.key, ...toStartKey(key) } : {};
      const charged = caller ? chargedBy(caller) : [];
      const by = caller ? { startedBy: toStartedBy(caller) } : {};
      const started = await starts.startRun(run, input, { trigger, charged, pinned, ...by, ...asker, ...keyed });
      if (started.runId === runId)
        return readers.read({ runId, sessionId: keptIn, startedAt: started.createdAt, endsAlone }, reader);
      reader.close();
      limits.leave(runId);
      return repeats.replay(started, how);
    } catch (error) {
      reader.close();
      throw error;
    }
  };

  return async (request) => {
    const { agent: name, session, key, caller } = request;
    if (name === COPILOT_AGENT) await requireCopilot(options, caller);
    const first = key && (await repeats.find(name, key));
    if (first) return repeats.replay(first, { isWhole: request.isWhole === true });
    const model = await finder.modelOf(name);
    const runId = newRunId();
    const messages = await restored(request);
    const asked = toTurnInput(runId, { ...request, messages }, model);
    const passed = listPassed(messages, request.messages);
    const input = await judgeTurnInput(guardrails, { name, runId, passed, ...askerOf(request) }, asked);
    const chosen = namesInChoice(input.parameters);
    if (chosen.length > 0) requireChosenTools(chosen, await listNames(name, input));
    const owner = session
      ? (session.owner ?? (await ownerFor(sessions, { agent: name, name: session.name, caller })))
      : BOX_OWNER;
    await starts.requireAsked(name, input, owner);
    await limits.enter({ runId, name, limited: caller?.limited ?? [] });
    const begun = async () => begin(runId, request, { input: await keepFiles(request, { input, owner }), owner });
    return begun().catch((error: unknown) => {
      limits.leave(runId);
      throw error instanceof SerializationError ? notRecordable(error) : error;
    });
  };
}

// --- internal ---

/** The calls of the results that the box has put between what the client sent. What a client brings has not passed. */
function listPassed(messages: TurnRequest['messages'], sent: TurnRequest['messages']): ReadonlySet<string> {
  const idsOf = (list: TurnRequest['messages']) =>
    list.flatMap((message) => (message.role === 'tool' ? [message.tool_call_id] : []));
  const own = new Set(sent);
  const passed = new Set(idsOf(messages.filter((message) => !own.has(message))));
  for (const id of idsOf(sent)) passed.delete(id);
  return passed;
}

interface AskedTurn {
  input: TurnInput;
  owner: SessionOwner;
}

/** It is for people, once it is switched on. */
async function requireCopilot({ isCopilotEnabled }: TurnRequestsOptions, caller: TurnRequest['caller']): Promise<void> {
  if (caller) requirePermission(caller, 'copilot:use');
  if (isCopilotEnabled && !(await isCopilotEnabled())) throw copilotDisabled();
}

/** Who made the turn begin, as its row will say. */
function toColumn(caller: TurnRequest['caller']): string | null {
  return caller ? JSON.stringify(toStartedBy(caller)) : null;
}

/** Such as a member "__proto__" in the schema of a tool. */
function notRecordable({ path }: SerializationError): BoxError {
  return new BoxError('invalid_request', `"${path}" of the request cannot be recorded: it has a member "__proto__".`, {
    details: { path },
  });
}

/** The caller to whom alone a turn, and what it starts, is shown. */
function askerOf({ agent, caller }: TurnRequest): { askedBy?: string } {
  return agent === COPILOT_AGENT && caller ? { askedBy: caller.id } : {};
}
