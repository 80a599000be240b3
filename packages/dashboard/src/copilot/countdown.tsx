import { useNow } from '../ui/time.tsx';

/** How long an approval is good, as a ring and in words. */
export function Countdown({ until }: { until: string }) {
  const left = Math.min(ALL_MS, Math.max(0, Date.parse(until) - useNow(500)));
  const seconds = Math.ceil(left / 1_000);
  return (
    <div className="flex items-center gap-2 text-xs">
      <svg viewBox="0 0 20 20" aria-hidden className="size-5 shrink-0 -rotate-90">
        <circle cx="10" cy="10" r="8" fill="none" strokeWidth="3" className="stroke-line" />
        <circle
          cx="10"
          cy="10"
          r="8"
          fill="none"
          strokeWidth="3"
          pathLength="100"
          strokeDasharray={`${(left / ALL_MS) * 100} 100`}
          className="stroke-warn"
        />
      </svg>
      {left > 0 && (
        <time dateTime={until} className="tabular-nums">
          {seconds} s left to approve
        </time>
      )}
      <p role="status">{left > 0 ? '' : 'The time is up: an approval now runs nothing, and you are asked again.'}</p>
    </div>
  );
}

// --- internal ---

const ALL_MS = 90_000;
