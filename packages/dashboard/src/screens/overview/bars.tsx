export interface BarsProps {
  label: string;
  /** Two parts each: one above the other. */
  bars: readonly { start: number; parts: readonly [number, number] }[];
  words: readonly [string, string];
  /** What the second part is: what went wrong, or just another amount. Default: what went wrong. */
  second?: keyof typeof FILLS;
}

const WIDTH = 480;
const HEIGHT = 110;
const FILLS = { bad: 'fill-bad', plain: 'fill-muted' } as const;

/** A bar an hour, drawn without any library. */
export function Bars({ label, bars, words, second: kind = 'bad' }: BarsProps) {
  const most = Math.max(1, ...bars.map(({ parts: [a, b] }) => a + b));
  const [all, second] = bars.reduce(([sum, other], { parts: [a, b] }) => [sum + a + b, other + b], [0, 0]);
  const wide = WIDTH / bars.length;
  return (
    <figure>
      <svg
        role="img"
        aria-label={`${label}: ${all.toLocaleString('en')} in all, ${second.toLocaleString('en')} ${words[1]}`}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        className="h-28 w-full"
        preserveAspectRatio="none"
      >
        {bars.map(({ start, parts: [a, b] }, i) => {
          const low = (a / most) * HEIGHT;
          const high = (b / most) * HEIGHT;
          return (
            <g key={start}>
              <title>{`${new Date(start).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}: ${a} ${words[0]}, ${b} ${words[1]}`}</title>
              <rect x={i * wide + 1} y={0} width={wide - 2} height={HEIGHT} className="fill-page" />
              <rect x={i * wide + 1} y={HEIGHT - low} width={wide - 2} height={low} className="fill-accent" />
              <rect x={i * wide + 1} y={HEIGHT - low - high} width={wide - 2} height={high} className={FILLS[kind]} />
            </g>
          );
        })}
      </svg>
      <figcaption className="mt-1 flex justify-between text-xs text-muted">
        <span>24 hours ago</span>
        <span className="text-text tabular-nums">
          {all.toLocaleString('en')} in all, {second.toLocaleString('en')} {words[1]}
        </span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}
