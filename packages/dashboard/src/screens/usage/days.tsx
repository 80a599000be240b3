import { Bars } from '../overview/bars.tsx';
import { Answer } from '../../ui/answer.tsx';
import { listDays, toMonthName } from './month.ts';
import { useUsed } from './use-used.ts';
import type { Asked } from './use-used.ts';

/** A bar a day of a month. */
export function Days({ label, ...asked }: Omit<Asked, 'period'> & { label: string }) {
  const used = useUsed({ ...asked, period: 'day' });
  const days = listDays(asked.month);
  return (
    <Answer of={used} rows={3}>
      {({ items }) => {
        const sums = new Map<string, number>();
        for (const { period, tokens } of items) sums.set(period, (sums.get(period) ?? 0) + tokens);
        return (
          <Bars
            label={`${label} in ${toMonthName(asked.month)}`}
            bars={days.map((day) => ({ start: Date.parse(day), title: day, parts: [sums.get(day) ?? 0, 0] }))}
            words={['tokens']}
            ends={[days[0] ?? '', days.at(-1) ?? '']}
          />
        );
      }}
    </Answer>
  );
}
