import { useCallback, useEffect } from 'react';
import type { ReactNode } from 'react';
import type { AgentInterrupt } from '@svc/runtime/client';
import { useDialogs } from '../../app/search.ts';
import type { UseChat } from '../../chat/use-chat.ts';
import { AgentState } from '../../chat/agent-state.tsx';
import { Composer } from '../../chat/composer.tsx';
import { MessageList } from '../../chat/message-list.tsx';
import { toText } from '../../chat/message.ts';
import { Pending } from '../../chat/pending.tsx';
import { Pause } from '../../chat/pause.tsx';
import { toSent } from '../../chat/thread.ts';
import type { Thread } from '../../chat/thread.ts';
import { TurnFoot } from '../../chat/turn-foot.tsx';
import { useChat } from '../../chat/use-chat.ts';
import { usePauses } from '../../chat/use-pauses.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Loading } from '../../ui/loading.tsx';
import type { Beginning } from './playground.tsx';
import { RequestDialog } from './request-dialog.tsx';
import { useStickToEnd } from '../../chat/stick-to-end.ts';

export interface ConversationProps {
  agent: string;
  threadId: string;
  /** Nothing was said in it. */
  isNew: boolean;
  beginning: Beginning | undefined;
  /** A version of a prompt that is tried: `<id>@<version>`. */
  prompt: string | undefined;
  /** Something is said in it for the first time here. */
  onBegin(): void;
  onBranch(beginning: Beginning): void;
  /** What is above it. */
  children: ReactNode;
}

export function Conversation(props: ConversationProps) {
  const { agent, threadId, isNew, beginning, prompt, onBegin, onBranch, children } = props;
  const chatting = useChat({ agent, threadId, isNew: isNew || beginning !== undefined, prompt });
  const { chat, thread, isLost } = chatting;
  const { asked, ask, close } = useDialogs('request');
  useEffect(() => {
    if (!beginning) return;
    void chat.begin(beginning.messages, beginning.text);
    onBegin();
    // Once, when it is opened.
  }, [chat]);
  const say = (text: string): void => {
    void chat.say(text);
    onBegin();
  };
  const isRunning = thread.status === 'running';
  return (
    <>
      <header className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
        <h1 className="mr-2 text-base font-semibold">Playground</h1>
        {children}
        <Button disabled={thread.messages.length === 0} onClick={() => ask('request', 'curl')}>
          As a request
        </Button>
        <Said status={thread.status} isLost={isLost} hasAnswered={thread.turns.length > 0} />
      </header>
      <div className="flex min-h-0 flex-1 flex-col md:flex-row">
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          <Talk agent={agent} chatting={chatting} onBranch={onBranch} />
          <Composer
            blocked={thread.status === 'paused' ? 'The agent goes on once its call is decided.' : undefined}
            isRunning={isRunning}
            onSend={say}
            onStop={() => void chat.stop()}
          />
        </div>
        <AgentState state={thread.state} />
      </div>
      {asked.request && (
        <RequestDialog
          agent={agent}
          threadId={threadId}
          message={lastSaid(thread)}
          client={asked.request}
          onClose={close}
        />
      )}
    </>
  );
}

// --- internal ---

const WORDS: Record<Thread['status'], string> = {
  idle: '',
  running: 'The agent answers…',
  paused: 'The agent waits for a decision.',
  failed: 'The turn failed.',
  cancelled: 'The turn was stopped.',
};

function Said({ status, isLost, hasAnswered }: { status: Thread['status']; isLost: boolean; hasAnswered: boolean }) {
  return (
    <p role="status" className="ml-auto text-xs text-muted">
      {isLost
        ? 'The connection is lost; it is made again…'
        : status === 'idle' && hasAnswered
          ? 'The agent has answered.'
          : WORDS[status]}
    </p>
  );
}

interface TalkProps {
  agent: string;
  chatting: UseChat;
  onBranch(beginning: Beginning): void;
}

function Talk({ agent, chatting, onBranch }: TalkProps) {
  const { chat, thread, isOpening, failure } = chatting;
  const pauses = usePauses(thread.interrupts, chat.decide);
  const end = useStickToEnd();
  const replace = useCallback((id: string, text: string) => void chat.replace(id, text), [chat]);
  const branch = useCallback(
    (id: string, text: string) => {
      const { messages, lost } = chat.get().thread;
      const before = messages.slice(
        0,
        messages.findIndex((one) => one.id === id),
      );
      onBranch({ messages: toSent({ messages: before, lost }), text });
    },
    // What it does is the same, whichever it is.
    [chat],
  );
  const toPause = (interrupt: AgentInterrupt): ReactNode => (
    <Pause
      key={interrupt.id}
      interrupt={interrupt}
      chosen={pauses.chosenOf(interrupt.id)}
      busy={thread.status === 'running'}
      refused={failure}
      onDecide={(decision) => pauses.choose(interrupt.id, decision)}
    />
  );
  const toFoot = (runId: string): ReactNode => (
    <TurnFoot runId={runId} turn={thread.turns.find((turn) => turn.runId === runId)} />
  );
  const lastUser = thread.messages.findLast(({ role }) => role === 'user');
  const again = lastUser?.role === 'user' && thread.status === 'failed' ? toText(lastUser.content) : undefined;
  return (
    <div
      ref={end}
      tabIndex={0}
      role="region"
      aria-label={`Conversation with ${agent}`}
      className="min-h-0 flex-1 overflow-y-auto px-4 py-4"
    >
      <div className="mx-auto max-w-3xl">
        {isOpening && thread.messages.length === 0 && <Loading />}
        {!isOpening && thread.messages.length === 0 && failure === undefined && (
          <Empty title={`Say something to ${agent}`}>
            The box keeps what is said. Calls of tools show here as they happen, and wait for you where the agent asks.
          </Empty>
        )}
        <MessageList thread={thread} toPause={toPause} toFoot={toFoot} onReplace={replace} onBranch={branch} />
        <Pending thread={thread} />
        {thread.error && (
          <Failure error={thread.error} onRetry={again === undefined ? undefined : () => void chat.say(again)} />
        )}
        {failure !== undefined && failure !== null && <Failure error={failure} onRetry={() => void chat.open()} />}
      </div>
    </div>
  );
}

function lastSaid({ messages }: Thread): string {
  const said = messages.findLast(({ role }) => role === 'user');
  return said?.role === 'user' ? toText(said.content) : '';
}
