import { memo, useMemo } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { toChatMessages } from '../../chat/message.ts';
import { MessageList } from '../../chat/message-list.tsx';
import { EMPTY } from '../../chat/thread.ts';
import { Answer } from '../../ui/answer.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { More } from '../../ui/more.tsx';
import { Time } from '../../ui/time.tsx';
import { toCost } from '../../ui/cost.ts';
import { toCount } from '../../ui/count.ts';

type Turn = OperationOutput<'sessions.messages'>['items'][number];

/** What was said, turn by turn, each with its run. */
export function Replay({ session }: { session: OperationOutput<'sessions.get'> }) {
  const list = useList('sessions.messages', { id: session.sessionId, limit: 50 });
  return (
    <Answer of={{ ...list, data: list.items }}>
      {(turns) => (
        <>
          {session.summary && (
            <details className="mb-4 rounded-lg border border-line px-3 py-2 text-muted">
              <summary>The model is shown a summary in place of the older messages</summary>
              <p dir="auto" className="mt-2 wrap-anywhere whitespace-pre-wrap">
                {session.summary.text}
              </p>
            </details>
          )}
          {turns.length === 0 && (
            <Empty title="No turn has ended yet">
              A turn that fails or is cancelled adds nothing: the tab <i>Runs</i> says why.
            </Empty>
          )}
          <div className="space-y-6">
            {turns.map((turn) => (
              <ShownTurn key={turn.runId} turn={turn} />
            ))}
          </div>
          <More has={list.hasNextPage} busy={list.isFetchingNextPage} onMore={() => void list.fetchNextPage()} />
        </>
      )}
    </Answer>
  );
}

// --- internal ---

/** An older box says the sum alone, as does one whose run has been deleted. */
function toTokens({ totalTokens, inputTokens, outputTokens }: Turn): string {
  if (typeof inputTokens !== 'number') return `${toCount(totalTokens)} tokens`;
  return `${toCount(inputTokens)} tokens in, ${toCount(outputTokens ?? 0)} out`;
}

const ShownTurn = memo(function ShownTurn({ turn }: { turn: Turn }) {
  const thread = useMemo(() => ({ ...EMPTY, messages: toChatMessages(turn) }), [turn]);
  return (
    <section aria-label="Turn" className="max-w-3xl">
      <MessageList thread={thread} />
      <p className="mt-2 flex flex-wrap gap-x-3 text-xs text-muted">
        <Link to={`/runs/${turn.runId}`}>Run</Link>
        <span className="tabular-nums">{toTokens(turn)}</span>
        {turn.cost !== undefined && <span className="tabular-nums">cost {toCost(turn.cost)}</span>}
        <Time at={turn.endedAt} />
      </p>
    </section>
  );
});
