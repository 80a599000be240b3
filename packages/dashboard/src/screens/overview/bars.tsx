export interface BarsProps {
  label: string;
  /** Two parts each: one above the other. `title`: what stands for its time. Default: its hour. */
  bars: readonly { start: number; title?: string; parts: readonly [number, number] }[];
  /** What the parts are; one word where there is no second part. */
  words: readonly [string, string?];
  /** What is at the left and at the right of it. Default: the last 24 hours. */
  ends?: readonly [string, string];
  /** What the second part is: what went wrong, or just another amount. Default: what went wrong. */
  second?: keyof typeof FILLS;
}

const WIDTH = 480;
const HEIGHT = 110;
const FILLS = { bad: 'fill-bad', plain: 'fill-muted' } as const;

/** A bar an hour, or a day, drawn without any library. */
export function Bars({ label, bars, words, second: kind = 'bad', ends = ['24 hours ago', 'now'] }: BarsProps) {
  const most = Math.max(1, ...bars.map(({ parts: [a, b] }) => a + b));
  const [all, second] = bars.reduce(([sum, upper], { parts: [a, b] }) => [sum + a + b, upper + b], [0, 0]);
  const wide = WIDTH / bars.length;
  const other = words[1] === undefined ? '' : `, ${second.toLocaleString('en')} ${words[1]}`;
  return (
    <figure>
      <svg
        role="img"
        aria-label={`${label}: ${all.toLocaleString('en')} in all${other}`}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        className="h-28 w-full"
        preserveAspectRatio="none"
      >
        {bars.map(({ start, title = toHour(start), parts: [a, b] }, i) => {
          const low = (a / most) * HEIGHT;
          const high = (b / most) * HEIGHT;
          return (
            <g key={start}>
              <title>{`${title}: ${a} ${words[0]}${words[1] === undefined ? '' : `, ${b} ${words[1]}`}`}</title>
              <rect x={i * wide + 1} y={0} width={wide - 2} height={HEIGHT} className="fill-page" />
              <rect x={i * wide + 1} y={HEIGHT - low} width={wide - 2} height={low} className="fill-accent" />
              <rect x={i * wide + 1} y={HEIGHT - low - high} width={wide - 2} height={high} className={FILLS[kind]} />
            </g>
          );
        })}
      </svg>
      <figcaption className="mt-1 flex justify-between text-xs text-muted">
        <span>{ends[0]}</span>
        <span className="text-text tabular-nums">
          {all.toLocaleString('en')} in all{other}
        </span>
        <span>{ends[1]}</span>
      </figcaption>
    </figure>
  );
}

// --- internal ---

function toHour(start: number): string {
  return new Date(start).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}
