import { useEffect, useState } from 'react';
import { useNow } from '../ui/time.tsx';
import type { Thread } from './thread.ts';

/** Where the next of a turn will be, while nothing of it comes; after ten seconds it says for how long. */
export function Pending({ thread }: { thread: Thread }) {
  const { status, messages, open } = thread;
  // What streams shows by itself that it comes.
  if (status !== 'running' || open.size > 0) return null;
  return <Waiting key={messages.length} />;
}

// --- internal ---

const LONG_MS = 10_000;

function Waiting() {
  const [since, setSince] = useState(Date.now);
  useEffect(() => setSince(Date.now()), []);
  const ms = useNow(1_000) - since;
  const isLong = ms >= LONG_MS;
  return (
    <div className="flex items-center gap-2 text-muted" data-pending>
      <span aria-hidden className="flex gap-1 py-2">
        {DOTS.map((delay) => (
          <span
            key={delay}
            className="size-1.5 animate-pulse rounded-full bg-current motion-reduce:animate-none"
            style={{ animationDelay: delay }}
          />
        ))}
      </span>
      <p role="status">{isLong && 'This takes longer than most. You can wait, or stop it.'}</p>
      {isLong && (
        <span aria-hidden className="ml-auto shrink-0 tabular-nums">
          {Math.floor(ms / 1_000)} s
        </span>
      )}
    </div>
  );
}

const DOTS = ['0ms', '150ms', '300ms'];
