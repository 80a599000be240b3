import { turnOpen } from '../../agents/events/turn-errors.ts';
import type { RunningTurn } from '../../agents/reading/running-turn.ts';
import { requirePermission } from '../../auth/caller.ts';
import type { Caller } from '../../auth/caller.ts';
import type { ConversationMessage, TurnKey } from '../../agents/turn/input.ts';
import type { AgentState } from '../../tools/state.ts';
import { messageIdOf } from '../../agents/turn/ids.ts';
import type { RunRow } from '../../engine/journal/run.ts';
import { BoxError } from '../../errors.ts';
import type { SessionStore } from '../../agents/turn/session-store.ts';
import { readClientState, toSystemTexts } from './context.ts';
import type { ClientState } from './context.ts';
import type { RunAgentInput } from './input.ts';
import { resumeTurn } from './resume.ts';
import type { ResumeOptions } from './resume.ts';
import { isAsked, listOpenCalls, viewThread } from './thread.ts';
import type { ThreadView } from './thread.ts';
import { toModelParameters } from '../chat-completions/model-parameters.ts';

export interface RunOptions extends ResumeOptions {
  sessions: SessionStore;
}

export interface RunRequest {
  agent: string;
  input: RunAgentInput;
  caller: Caller;
  key?: TurnKey;
}

/** A run of the protocol, begun. */
export interface BegunRun {
  /** Undefined: there was nothing to ask the agent. */
  turn: RunningTurn | undefined;
  state: ClientState;
  /** What the client lacks, to be sent first. */
  restated?: { messages: ConversationMessage[]; state: AgentState };
  /** Calls the client is to run, when there is no turn. */
  openCalls: string[];
  /** The turn was under way before: what the thread has is read again at its end. */
  followed?: Followed;
}

export interface Followed {
  run: RunRow;
  /** Asks the agent, in a turn of its own, what the request says beside its decisions. Once: that turn, ever after. */
  ask(view: ThreadView): Promise<RunningTurn>;
}

/** Starts a turn, or reads on in the one that is under way. Throws before there is a stream. */
export async function beginRun(options: RunOptions, request: RunRequest): Promise<BegunRun> {
  const { agent, input, key, caller } = request;
  const { agents, sessions } = options;
  const { threadId, resume: entries } = input;
  const open = await agents.findOpenTurn(agent, threadId);
  // Looked up after the open turn: should that be the one the key began, it is found.
  const first = key && (await agents.findRepeat(agent, key));
  if (first) return repeatRun(options, request, first);
  const isResume = entries.length > 0;
  // A key may decide about the tools of its own threads; a person needs a seat that decides.
  if (isResume && caller.role !== null) requirePermission(caller, 'hitl:decide');
  if (open && !isResume) throw turnOpen(open, await agents.hasPendingApproval(open));
  const resumed = isResume ? await resumeTurn(options, { ...request, by: caller.name, entries, open }) : undefined;
  const stored = await sessions.read(sessions.idOf(agent, threadId)).catch((error: unknown) => {
    resumed?.turn.leave();
    throw error;
  });
  const state = readClientState(input.state, stored.state);
  if (resumed) {
    const rest = { ...request, state, ...(key ? { key: { ...key, scope: [...key.scope, 'rest'] } } : {}) };
    let asked: Promise<RunningTurn> | undefined;
    const ask = (view: ThreadView) => (asked ??= startTurn(options, { ...rest, view }));
    return { turn: resumed.turn, state, openCalls: [], followed: { run: resumed.run, ask } };
  }
  const view = viewThread(stored.messages, input.messages, { append: isResume });
  const { kept, added, isRestated } = view;
  const all = [...kept, ...added];
  if (all.length === 0)
    throw new BoxError('invalid_request', 'The thread is empty and "messages" holds nothing to answer.', {
      details: { param: 'messages' },
    });
  const begun: BegunRun = {
    turn: isAsked(view) ? await startTurn(options, { ...request, state, view }) : undefined,
    state,
    openCalls: added.length > 0 ? [] : listOpenCalls(kept),
  };
  if (isRestated) begun.restated = { messages: all, state: stored.state };
  return begun;
}

// --- internal ---

/** The client is sent what came first of the thread before the turn, should it lack that. */
async function repeatRun({ sessions }: RunOptions, { agent, input }: RunRequest, turn: RunningTurn): Promise<BegunRun> {
  const stored = await sessions.read(sessions.idOf(agent, input.threadId));
  const state = readClientState(input.state, stored.state);
  const ofTurn = new Set([...input.messages.map(({ id }) => id), messageIdOf(turn.runId, 1)]);
  const at = stored.messages.findIndex(({ id }) => ofTurn.has(id));
  const before = at < 0 ? stored.messages : stored.messages.slice(0, at);
  const { kept, added, isRestated } = viewThread(before, input.messages);
  const begun: BegunRun = { turn, state, openCalls: [] };
  if (isRestated) begun.restated = { messages: [...kept, ...added], state: stored.state };
  return begun;
}

interface TurnStart extends RunRequest {
  state: ClientState;
  view: ThreadView;
}

function startTurn(
  { agents }: RunOptions,
  { agent, input, key, state, view, caller }: TurnStart,
): Promise<RunningTurn> {
  const { added, cutAfter } = view;
  const { threadId, tools, forwardedProps } = input;
  return agents.startTurn({
    agent,
    messages: [...toSystemTexts(input, state).map((content) => ({ role: 'system' as const, content })), ...added],
    tools,
    askedBy: caller.id,
    session: { name: threadId, kind: 'session', ...(cutAfter === undefined ? {} : { cutAfter }) },
    parameters: typeof forwardedProps === 'object' && forwardedProps !== null ? toModelParameters(forwardedProps) : {},
    ...(key ? { key } : {}),
  });
}
