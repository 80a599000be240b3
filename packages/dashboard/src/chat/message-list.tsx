import { memo, useMemo } from 'react';
import type { ReactNode } from 'react';
import type { AgentInterrupt } from '@svc/runtime/client';
import { Markdown } from './markdown.tsx';
import { runOf } from './message.ts';
import type { ChatContent, ChatMessage } from './message.ts';
import type { Thread } from './thread.ts';
import { Thought } from './thought.tsx';
import { ToolCard } from './tool-card.tsx';
import type { CallWords } from './tool-card.tsx';
import { UserMessage } from './user-message.tsx';
import type { UserMessageProps } from './user-message.tsx';

export interface MessageListProps extends Partial<Pick<UserMessageProps, 'onReplace' | 'onBranch'>> {
  thread: Thread;
  /** How calls are spoken of. One and the same object each time. */
  words?: CallWords;
  /** What asks about a call that waits. */
  toPause?(interrupt: AgentInterrupt): ReactNode;
  /** What is said at the end of a turn, by its run. */
  toFoot?(runId: string): ReactNode;
}

/** A conversation: of people, what was thought, said and called, and the outcome of it. */
export function MessageList({ thread, words, toPause, toFoot, onReplace, onBranch }: MessageListProps) {
  const { messages, open, lost, thought, interrupts, status } = thread;
  const results = useMemo(() => resultsOf(messages), [messages]);
  const shown = new Set<string>();
  const waiting = new Set(status === 'paused' ? interrupts.map(({ toolCallId }) => toolCallId) : []);
  const pauseOf = (callId: string): ReactNode => {
    const interrupt = toPause && interrupts.find(({ toolCallId }) => toolCallId === callId);
    if (!interrupt) return undefined;
    shown.add(interrupt.id);
    return toPause?.(interrupt);
  };
  const items = messages.map((message, at) => (
    <li key={message.id} className="space-y-2 [content-visibility:auto] [contain-intrinsic-size:auto_3rem]">
      {toItem(message)}
      {toFoot &&
        endsTurn(messages, at) &&
        toFoot(runOf(message.role === 'tool' ? before(messages, at) : message.id) ?? '')}
    </li>
  ));
  function toItem(message: ChatMessage): ReactNode {
    const { id } = message;
    if (message.role === 'user') {
      const actions = { onReplace: status === 'running' ? undefined : onReplace, onBranch };
      return <UserMessage id={id} content={message.content} isLost={lost.has(id)} {...actions} />;
    }
    if (message.role === 'reasoning') {
      const { from, to } = thought[id] ?? {};
      const ms = from === undefined || to === undefined ? undefined : to - from;
      return <Thought text={message.content} isOpen={open.has(id)} ms={ms} />;
    }
    if (message.role === 'assistant') {
      const { content = '', toolCalls = [] } = message;
      return (
        <>
          {content !== '' && <Said text={content} isOpen={open.has(id)} isLost={lost.has(id)} />}
          {toolCalls.map((call) => (
            <ToolCard
              key={call.id}
              call={call}
              isOpen={open.has(call.id)}
              isLive={status === 'running'}
              result={results.get(call.id)}
              isWaiting={waiting.has(call.id)}
              words={words}
              pause={pauseOf(call.id)}
            />
          ))}
        </>
      );
    }
    if (message.role === 'system' || message.role === 'developer') return <Note text={message.content} />;
    return null;
  }
  // Of a sub-agent: its calls are not part of this conversation.
  const others = toPause ? interrupts.filter(({ id }) => !shown.has(id)) : [];
  return (
    <ol aria-label="Conversation" className="space-y-3">
      {items}
      {others.map((interrupt) => (
        <li key={interrupt.id}>{toPause?.(interrupt)}</li>
      ))}
    </ol>
  );
}

// --- internal ---

const Said = memo(function Said({ text, isOpen, isLost }: { text: string; isOpen: boolean; isLost: boolean }) {
  return (
    <div aria-busy={isOpen} className={isLost ? 'opacity-70' : ''}>
      <Markdown text={text} />
    </div>
  );
});

function Note({ text }: { text: string }) {
  return (
    <p dir="auto" className="text-xs text-muted wrap-anywhere whitespace-pre-wrap">
      {text}
    </p>
  );
}

function resultsOf(messages: readonly ChatMessage[]): Map<string, ChatContent> {
  return new Map(messages.flatMap((one) => (one.role === 'tool' ? [[one.toolCallId, one.content] as const] : [])));
}

/** The last message that was made of one of a person's. */
function endsTurn(messages: readonly ChatMessage[], at: number): boolean {
  const message = messages[at];
  const next = messages[at + 1];
  return message?.role !== 'user' && message?.role !== 'system' && (next === undefined || next.role === 'user');
}

/** The reply before the results of its calls. */
function before(messages: readonly ChatMessage[], at: number): string {
  return messages.slice(0, at).findLast(({ role }) => role === 'assistant')?.id ?? '';
}
