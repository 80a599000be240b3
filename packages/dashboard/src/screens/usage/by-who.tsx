import { useCall } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { toCost } from '../../ui/cost.ts';
import { toCount } from '../../ui/count.ts';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { toMonthName } from './month.ts';
import type { Month } from './month.ts';
import { useUsed } from './use-used.ts';
import type { Used, UsedBy } from './use-used.ts';

/** The sums of a month, what cost most first. */
export function ByWho({ kind, month }: { kind: UsedBy; month: Month }) {
  const used = useUsed({ kind, month, period: 'month' });
  const [, change] = useSearchState();
  const nameOf = useNames(kind);
  return (
    <Answer of={used}>
      {({ items, isCut }) => {
        if (items.length === 0) return <Nothing kind={kind} month={month} />;
        const columns: readonly Column<Used>[] = [
          {
            title: TITLES[kind],
            cell: ({ id }) => (
              <Button
                look="quiet"
                className="!justify-start !px-0 !py-0 text-left !whitespace-normal text-accent underline wrap-anywhere"
                onClick={() => change({ id }, 'push')}
              >
                <bdi>{nameOf(id)}</bdi>
              </Button>
            ),
          },
          { title: 'Tokens', end: true, cell: ({ tokens }) => toCount(tokens) },
          { title: 'Cost', end: true, cell: ({ cost }) => (cost === 0 ? '–' : toCost(cost)) },
        ];
        return (
          <>
            <Table
              label={`Used in ${toMonthName(month)}`}
              columns={columns}
              rows={items.toSorted((a, b) => b.cost - a.cost || b.tokens - a.tokens)}
              keyOf={({ id }) => id}
            />
            {isCut && <p className="mt-2 text-muted">There are more; these are the first {toCount(items.length)}.</p>}
            {items.every(({ cost }) => cost === 0) && (
              <p className="mt-2 text-muted">
                No model that answered had a price: <code>prices</code> of <code>svc.config.ts</code> says what one
                costs.
              </p>
            )}
          </>
        );
      }}
    </Answer>
  );
}

/** What people call it: a key has a name besides its id. */
export function useNames(kind: UsedBy): (id: string) => string {
  const keys = useCall('keys.list', { limit: 200 }, { enabled: kind === 'key' });
  return (id) => keys.data?.items.find((key) => key.id === id)?.name ?? id;
}

// --- internal ---

const TITLES: Record<UsedBy, string> = { agent: 'Agent', key: 'API key', user: 'User', model: 'Model' };
const PLURALS: Record<UsedBy, string> = { agent: 'agent', key: 'API key', user: 'user of a client', model: 'model' };

function Nothing({ kind, month }: { kind: UsedBy; month: Month }) {
  return (
    <Empty title={`No ${PLURALS[kind]} has used anything in ${toMonthName(month)}`}>
      {kind === 'key' || kind === 'user' ? (
        <>
          What a program uses is counted by its <Link to="/keys">API key</Link>.
        </>
      ) : (
        <>
          Talk to an agent in the <Link to="/playground">Playground</Link>, or choose another month.
        </>
      )}
    </Empty>
  );
}
