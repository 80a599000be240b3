import type { Caller } from '../../auth/caller.ts';
import type { PinnedVersion } from '../../engine/box-marks.ts';
import { BoxError } from '../../errors.ts';
import type { AgentState } from '../../tools/state.ts';
import type { TurnFiles } from '../files/turn-files.ts';
import type { RunningTurn } from '../reading/running-turn.ts';
import { messageIdOf } from '../turn/ids.ts';
import type { ClientTool, ConversationMessage, TurnKey } from '../turn/input.ts';
import type { SessionPlace, SessionStore } from '../turn/session-store.ts';
import { resumeTurn } from './answers.ts';
import { createAttachedThreads } from './attached.ts';
import type { AttachedOptions, AttachedThreads } from './attached.ts';
import type { Answer, AnswerOptions } from './answers.ts';
import { createFollowed } from './followed.ts';
import { posterOwnerFor } from './owner.ts';
import type { Followed } from './followed.ts';
import { isAsked, listOpenCalls, viewThread } from './view.ts';
import type { SentMessage, ThreadView } from './view.ts';

/** Sessions of clients that hold a copy: with each request one sends what it has, and decides about what waits. */
export interface Threads {
  /** Starts a turn, or reads on in the one that is under way. Throws before there is anything to read. */
  begin(request: ThreadRequest): Promise<BegunThread>;
}

export interface ThreadRequest {
  agent: string;
  /** What the client calls the thread: the name of the session. */
  name: string;
  messages: readonly SentMessage[];
  /** What it decides about the calls that wait. None: it does not go on with a turn. */
  answers: readonly Answer[];
  /** System texts of this turn alone, given what the agent keeps as state. */
  toSystem(state: AgentState): string[];
  /** Tools the client runs itself. */
  tools: ClientTool[];
  parameters: Record<string, unknown>;
  /** Versions of prompts that stand for what is published. */
  pinned?: readonly PinnedVersion[];
  caller: Caller;
  key?: TurnKey;
}

export interface BegunThread {
  /** Undefined: there was nothing to ask the agent. */
  turn: RunningTurn | undefined;
  /** What the agent keeps, before the turn. */
  state: AgentState;
  /** What the client lacks, to be sent first. */
  restated?: ConversationMessage[];
  /** Calls the client is to run, when there is no turn. */
  openCalls: string[];
  /** The turn was under way before: what the thread has is read again at its end. */
  followed?: Followed;
}

export interface ThreadsOptions extends AnswerOptions, Pick<AttachedOptions, 'cancel'> {
  files: Pick<TurnFiles, 'align' | 'show'>;
  sessions: SessionStore;
}

export function createThreads(options: ThreadsOptions): Threads & AttachedThreads {
  return {
    ...createAttachedThreads(options),
    begin: async (request) =>
      beginThread(options, { ...request, owner: await posterOwnerFor(options.sessions, request) }),
  };
}

// --- internal ---

type OwnedRequest = ThreadRequest & SessionPlace;

async function beginThread(options: ThreadsOptions, request: OwnedRequest): Promise<BegunThread> {
  const { agent, answers, key, caller } = request;
  const { agents, sessions, files } = options;
  const sessionId = sessions.idOf(request);
  const open = await agents.findOpenTurn(request);
  // Looked up after the open turn: should that be the one the key began, it is found.
  const first = key && (await agents.findRepeat(agent, key));
  if (first) return repeatTurn(options, request, first);
  const isResume = answers.length > 0;
  if (open && !isResume) throw await agents.toTurnOpen(open);
  const resumed = isResume ? await resumeTurn(options, { ...request, place: request, by: caller, open }) : undefined;
  const stored = await sessions.read(sessionId).catch((error: unknown) => {
    resumed?.turn.leave();
    throw error;
  });
  const { state } = stored;
  if (resumed) {
    const rest = { ...request, ...(key ? { key: { ...key, scope: [...key.scope, 'rest'] } } : {}) };
    const ask = (view: ThreadView) => startTurn(options, { ...rest, state, view });
    const followed = createFollowed(options, { run: resumed.run, messages: request.messages, ask });
    return { turn: resumed.turn, state, openCalls: [], followed };
  }
  const sent = await files.align(sessionId, stored.messages, request.messages);
  const view = viewThread(stored.messages, sent, { append: isResume });
  const { kept, added, isRestated } = view;
  const all = [...kept, ...added];
  if (all.length === 0)
    throw new BoxError('invalid_request', 'The thread is empty and "messages" holds nothing to answer.', {
      details: { param: 'messages' },
    });
  return {
    turn: isAsked(view) ? await startTurn(options, { ...request, state, view }) : undefined,
    state,
    openCalls: added.length > 0 ? [] : listOpenCalls(kept),
    ...(isRestated ? { restated: await files.show(sessionId, all) } : {}),
  };
}

/** The client is sent what came first of the thread before the turn, should it lack that. */
async function repeatTurn(
  { sessions, files }: ThreadsOptions,
  { messages: asked, ...place }: OwnedRequest,
  turn: RunningTurn,
): Promise<BegunThread> {
  const sessionId = sessions.idOf(place);
  const { messages, state } = await sessions.read(sessionId);
  const sent = await files.align(sessionId, messages, asked);
  const ofTurn = new Set([...sent.map(({ id }) => id), messageIdOf(turn.runId, 1)]);
  const at = messages.findIndex(({ id }) => ofTurn.has(id));
  const { kept, added, isRestated } = viewThread(at < 0 ? messages : messages.slice(0, at), sent);
  return {
    turn,
    state,
    openCalls: [],
    ...(isRestated ? { restated: await files.show(sessionId, [...kept, ...added]) } : {}),
  };
}

interface TurnStart extends OwnedRequest {
  state: AgentState;
  view: ThreadView;
}

function startTurn({ agents }: ThreadsOptions, start: TurnStart): Promise<RunningTurn> {
  const { agent, name, owner, key, state, view, caller, tools, parameters, pinned = [] } = start;
  const { added, cutAfter } = view;
  return agents.startTurn({
    agent,
    messages: [...start.toSystem(state).map((content) => ({ role: 'system' as const, content })), ...added],
    tools,
    caller,
    session: { name, owner, kind: 'session', ...(cutAfter === undefined ? {} : { cutAfter }) },
    parameters,
    pinned,
    ...(key ? { key } : {}),
  });
}
