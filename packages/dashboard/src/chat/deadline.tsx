import { toDuration, toWhole, useNow } from '../ui/time.tsx';

/** How long there is to decide, counting. */
export function Deadline({ at }: { at: string }) {
  const left = Date.parse(at) - useNow(1_000);
  return (
    <p className="text-xs text-text">
      <time dateTime={at} title={toWhole(at)} className="tabular-nums">
        {left > 0
          ? `${toDuration(Math.ceil(left / 1_000) * 1_000).replace(/\.\d+ s$/, ' s')} left to decide`
          : 'The time is up.'}
      </time>
    </p>
  );
}
