import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useMemo, useRef } from 'react';
import type { RefObject } from 'react';
import { refreshRooms } from '../api/refresh.ts';
import { useBox, useMay } from '../app/box.ts';
import { toSeat } from '../app/screens.ts';
import { Composer } from '../chat/composer.tsx';
import { MessageList } from '../chat/message-list.tsx';
import { toText } from '../chat/message.ts';
import { Pending } from '../chat/pending.tsx';
import { PauseCard } from '../chat/pause-card.tsx';
import { useStickToEnd } from '../chat/stick-to-end.ts';
import type { Thread } from '../chat/thread.ts';
import { useChat } from '../chat/use-chat.ts';
import type { UseChat } from '../chat/use-chat.ts';
import { usePauses } from '../chat/use-pauses.ts';
import { Button } from '../ui/button.tsx';
import { Empty } from '../ui/empty.tsx';
import { Failure } from '../ui/failure.tsx';
import { Loading } from '../ui/loading.tsx';
import { COPILOT_AGENT, CONFIRM_TOOL } from './agent.ts';
import { Confirmation, focusQuestion } from './confirmation.tsx';
import { OFF } from './off.ts';
import type { OffReason } from './off.ts';
import { CALLS } from './outcome.ts';
import { createPage } from './page.ts';

export interface TalkProps {
  threadId: string;
  isNew: boolean;
  /** Something is said in it for the first time. */
  onBegin(): void;
  /** The next message is written at once. */
  takesFocus: boolean;
  /** What is written and not sent. */
  draft: RefObject<string>;
  /** Why nothing can be said at the moment. */
  lost: OffReason | undefined;
}

/** A conversation with the copilot. */
export function Talk({ threadId, isNew, onBegin, takesFocus, draft, lost }: TalkProps) {
  const { bootstrap } = useBox();
  const router = useRouter();
  const page = useMemo(() => createPage(router, toSeat(bootstrap)), [router, bootstrap]);
  const chatting = useChat({ agent: COPILOT_AGENT, threadId, isNew, page });
  const { chat, thread, isLost } = chatting;
  useAskedAnew(thread.error);
  // It was not taken: whoever wrote it has it again once there is a copilot.
  const isRefused = thread.error?.code === 'copilot_disabled';
  const unsent = isRefused ? thread.messages.findLast(({ role: of }) => of === 'user') : undefined;
  useEffect(() => {
    if (unsent?.role === 'user' && draft.current === '') draft.current = toText(unsent.content);
  }, [unsent, draft]);
  const say = (text: string): void => {
    onBegin();
    if (draft.current === text) draft.current = '';
    void chat.say(text);
  };
  const input = useRef<HTMLTextAreaElement>(null);
  const isPaused = thread.status === 'paused';
  return (
    <>
      <Said chatting={chatting} onSay={say} onDecided={() => input.current?.focus()} />
      <p role="status" className="px-4 py-1 text-xs text-muted empty:hidden">
        {lost ? `${OFF[lost].title}.` : isLost ? 'The connection is lost; it is made again…' : WORDS[thread.status]}
      </p>
      <Composer
        autoFocus={takesFocus}
        inputRef={input}
        draft={draft}
        label="Message to the copilot"
        blocked={lost ? OFF[lost].text : isPaused ? 'The copilot goes on once you have decided.' : undefined}
        isRunning={thread.status === 'running'}
        onSend={say}
        onStop={() => void chat.stop()}
      />
    </>
  );
}

// --- internal ---

const WORDS: Record<Thread['status'], string> = {
  idle: '',
  running: 'The copilot works…',
  paused: 'The copilot asks you to confirm a call.',
  failed: 'The turn failed.',
  cancelled: 'The turn was stopped.',
};

const EXAMPLES = ['What failed today, and why?', 'What waits for a person?', 'What did each agent spend this week?'];

function toPlaceOf(at: number, all: number): string | undefined {
  return all > 1 ? `${at + 1} of ${all}` : undefined;
}

/** What a turn was refused for may be a switch or a model that someone has changed meanwhile. */
function useAskedAnew(error: Thread['error']): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (error) void refreshRooms(queries, ['settings', 'catalog']);
  }, [error, queries]);
}

interface SaidProps {
  chatting: UseChat;
  onSay(text: string): void;
  /** All that waited is decided. */
  onDecided(): void;
}

function Said({ chatting, onSay, onDecided }: SaidProps) {
  const { chat, thread, isOpening, failure } = chatting;
  const { messages, interrupts, status, error } = thread;
  const pauses = usePauses(interrupts, chat.decide);
  const may = useMay();
  const end = useStickToEnd();
  const isEmpty = messages.length === 0;
  const last = messages.findLast(({ role }) => role === 'user');
  const again = last?.role === 'user' && status === 'failed' ? toText(last.content) : undefined;
  return (
    <div
      ref={end}
      tabIndex={0}
      role="region"
      aria-label="Conversation with the copilot"
      className="min-h-0 flex-1 overflow-y-auto px-4 py-3"
    >
      <div className="space-y-3">
        {isOpening && isEmpty && <Loading />}
        {!isOpening && isEmpty && failure === undefined && (
          <Empty title="Ask about this installation">
            <p>It reads and changes what you may read and change, and asks before what cannot be undone.</p>
            <ul className="mt-3 space-y-2">
              {EXAMPLES.map((text) => (
                <li key={text}>
                  <Button small className="!whitespace-normal" onClick={() => onSay(text)}>
                    {text}
                  </Button>
                </li>
              ))}
            </ul>
          </Empty>
        )}
        {!isEmpty && <MessageList thread={thread} words={CALLS} />}
        <Pending thread={thread} />
        {interrupts.map((interrupt, at) => {
          const parts = {
            interrupt,
            chosen: pauses.chosenOf(interrupt.id),
            busy: status === 'running',
            onDecide(decision: Parameters<typeof pauses.choose>[1]) {
              // The button goes with the decision: whoever pressed it is led on.
              const next = interrupts.find(({ id }) => id !== interrupt.id && !pauses.chosenOf(id));
              if (next) focusQuestion(next.id);
              else onDecided();
              pauses.choose(interrupt.id, decision);
            },
          };
          // An agent of the workspace in its place may have pauses of another kind.
          return interrupt.metadata?.svc['tool'] === CONFIRM_TOOL ? (
            <Confirmation key={interrupt.id} {...parts} messages={messages} place={toPlaceOf(at, interrupts.length)} />
          ) : (
            <PauseCard key={interrupt.id} {...parts} may={may('hitl:decide')} />
          );
        })}
        {error && <Failure error={error} onRetry={again === undefined ? undefined : () => onSay(again)} />}
        {failure !== undefined && failure !== null && <Failure error={failure} onRetry={() => void chat.open()} />}
      </div>
    </div>
  );
}
