import { turnOpen } from '../agents/agent-errors.ts';
import type { RunningTurn } from '../agents/agents.ts';
import type { ConversationMessage } from '../agents/turn-input.ts';
import type { TurnState } from '../agents/turn-state.ts';
import type { RunRow } from '../engine/journal.ts';
import { BoxError } from '../errors.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { readClientState, toSystemTexts } from './agui-context.ts';
import type { ClientState } from './agui-context.ts';
import type { RunAgentInput } from './agui-input.ts';
import { resumeTurn } from './agui-resume.ts';
import type { ResumeOptions } from './agui-resume.ts';
import { listOpenCalls, viewThread } from './agui-thread.ts';
import type { ThreadView } from './agui-thread.ts';
import { toModelParameters } from './model-parameters.ts';

export interface RunOptions extends ResumeOptions {
  sessions: Sessions;
}

export interface RunRequest {
  agent: string;
  input: RunAgentInput;
  /** Whom an audit names. */
  by: string;
}

/** A run of the protocol, begun. */
export interface BegunRun {
  /** Undefined: there was nothing to ask the agent. */
  turn: RunningTurn | undefined;
  state: ClientState;
  /** What the client has not, to be told first. */
  restated?: { messages: ConversationMessage[]; state: TurnState };
  /** Calls the client is to run, when there is no turn. */
  openCalls: string[];
  /** A turn that was under way before: what the thread has is read again at its end. */
  followed?: RunRow;
}

/** Starts a turn, or reads on in the one that is under way. Throws before there is a stream. */
export async function beginRun(options: RunOptions, { agent, input, by }: RunRequest): Promise<BegunRun> {
  const { agents, sessions } = options;
  const { threadId, resume: entries } = input;
  const open = await agents.findOpenTurn(agent, threadId);
  const isResume = entries.length > 0;
  if (open && !isResume) throw turnOpen(open);
  const followed = isResume ? await resumeTurn(options, { entries, open, by }) : undefined;
  const stored = await sessions.read(sessions.idOf(agent, threadId)).catch((error: unknown) => {
    followed?.leave();
    throw error;
  });
  const state = readClientState(input.state, stored.state);
  if (followed && open) return { turn: followed, state, openCalls: [], followed: open };
  const view = viewThread(stored.messages, input.messages, { append: isResume });
  const { kept, added, isRestated } = view;
  const all = [...kept, ...added];
  if (all.length === 0)
    throw new BoxError('invalid_request', 'The thread is empty and "messages" holds nothing to answer.', {
      details: { param: 'messages' },
    });
  const begun: BegunRun = {
    turn: isAsked(view) ? await startTurn(options, { agent, input, state, view }) : undefined,
    state,
    openCalls: listOpenCalls(all),
  };
  if (isRestated) begun.restated = { messages: all, state: stored.state };
  return begun;
}

// --- internal ---

/** Something was said after the agent's last answer. */
function isAsked({ kept, added }: ThreadView): boolean {
  const last = added.at(-1) ?? kept.at(-1);
  return last !== undefined && last.role !== 'assistant';
}

interface TurnStart {
  agent: string;
  input: RunAgentInput;
  state: ClientState;
  view: ThreadView;
}

function startTurn({ agents }: RunOptions, { agent, input, state, view }: TurnStart): Promise<RunningTurn> {
  const { added, cutAfter } = view;
  const { threadId, tools, forwardedProps } = input;
  return agents.startTurn({
    agent,
    messages: [...toSystemTexts(input, state).map((content) => ({ role: 'system' as const, content })), ...added],
    tools,
    session: { name: threadId, kind: 'session', ...(cutAfter === undefined ? {} : { cutAfter }) },
    parameters: typeof forwardedProps === 'object' && forwardedProps !== null ? toModelParameters(forwardedProps) : {},
  });
}
