import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { ClientError } from '@svc/runtime/client';
import { useBox } from '../app/box.ts';
import type { BoxContext } from '../app/box.ts';
import { createChat } from './create-chat.ts';
import type { Chat, ChatPage, ChatState } from './create-chat.ts';
import { toForwardedProps } from './prompt-choice.ts';
import { readPaused } from './read-paused.ts';

export interface UseChatOptions {
  agent: string;
  threadId: string;
  /** Nothing has been said in it, so there is nothing to read. */
  isNew: boolean;
  /** A version of a prompt that its turns are asked with: `<id>@<version>`. */
  prompt?: string | undefined;
  /** The same one for as long as it is shown. */
  page?: ChatPage;
}

export interface UseChat extends ChatState {
  chat: Chat;
}

/**
 * The conversation of an agent by its name, for as long as it is shown. Someone else may decide what it waits for: then
 * it goes on here, too.
 */
export function useChat({ agent, threadId, isNew, prompt, page }: UseChatOptions): UseChat {
  const box = useBox();
  const chat = useMemo(() => makeChat(box, { agent, threadId, prompt, page }), [box, agent, threadId, prompt, page]);
  useEffect(() => {
    if (!isNew) void chat.open();
    // Once: a conversation that has begun here is not read again.
  }, [chat]);
  useEffect(
    () =>
      box.events.on((event) => {
        if (event.event !== 'approval.decided') return;
        const { thread } = chat.get();
        const isOurs = thread.interrupts.some(({ id }) => id === event.data.approvalId);
        if (isOurs && thread.status === 'paused') void chat.open();
      }),
    [box, chat],
  );
  useEffect(() => () => chat.leave(), [chat]);
  const state = useSyncExternalStore(chat.onChange, chat.get);
  return { ...state, chat };
}

// --- internal ---

function makeChat(box: BoxContext, { agent, threadId, prompt, page }: Omit<UseChatOptions, 'isNew'>): Chat {
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    // At `svc dev` a wire takes any text for a key.
    if (box.bootstrap.place === 'dev') headers.set('authorization', 'Bearer dev');
    const response = await box.fetch(path, { ...init, headers });
    if (response.ok) return response;
    throw new ClientError(response.status, (await response.json().catch(() => ({}))) as object);
  };
  return createChat({
    agent,
    threadId,
    page,
    ...toForwardedProps(prompt),
    post: (path, body, { headers, signal }) =>
      send(path, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: signal ?? null,
      }),
    stop: (path) => send(path, { method: 'DELETE' }),
    soon: soonDrawn,
    readPaused: () => readPaused(box.client, { agent, threadId }),
  });
}

/** A page that is not shown draws no frames. */
function soonDrawn(flush: () => void): void {
  if (document.hidden) setTimeout(flush, 100);
  else requestAnimationFrame(flush);
}
