import { useCall } from '../../api/queries.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { toCost } from '../../ui/cost.ts';
import { toCount } from '../../ui/count.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Fact } from '../../ui/fact.tsx';
import { Link } from '../../ui/link.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { useNames } from './by-who.tsx';
import { Days } from './days.tsx';
import { toMonthName } from './month.ts';
import type { Month } from './month.ts';
import { useUsed } from './use-used.ts';
import type { Used, UsedBy } from './use-used.ts';

export interface OpenedProps {
  kind: UsedBy;
  id: string;
  month: Month;
  onClose(): void;
}

/** One that has used something: what it may use, and its days. */
export function Opened({ kind, id, month, onClose }: OpenedProps) {
  const now = useCall('usage.get', { kind, id });
  const days = useUsed({ kind, id, month, period: 'day' });
  const name = useNames(kind)(id);
  return (
    <Dialog title={name} wide onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <Answer of={now} rows={2}>
        {({ tokensToday, tokensThisMonth, limits }) => (
          <dl className="mb-4 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
            <Fact title="Today">{toUsed(tokensToday, limits.tokensPerDay)}</Fact>
            <Fact title="This month">{toUsed(tokensThisMonth, limits.tokensPerMonth)}</Fact>
          </dl>
        )}
      </Answer>
      <WaysOn kind={kind} id={id} />
      <h3 className="mt-4 mb-1 font-medium">{toMonthName(month)}</h3>
      <Days kind={kind} id={id} month={month} label={`Tokens of ${name}`} />
      <div className="mt-3">
        <Answer of={days} rows={3}>
          {({ items }) => <Table label="Days" columns={COLUMNS} rows={items} keyOf={({ period }) => period} />}
        </Answer>
      </div>
    </Dialog>
  );
}

// --- internal ---

const COLUMNS: readonly Column<Used>[] = [
  { title: 'Day (UTC)', cell: ({ period }) => period },
  { title: 'Tokens', end: true, cell: ({ tokens }) => toCount(tokens) },
  { title: 'Cost', end: true, cell: ({ cost }) => (cost === 0 ? '–' : toCost(cost)) },
];

function toUsed(tokens: number, limit: number | null | undefined): string {
  return `${toCount(tokens)} tokens${limit ? ` of ${toCount(limit)}` : ''}`;
}

/** Where what has used it is looked at, and kept from using more. */
function WaysOn({ kind, id }: { kind: UsedBy; id: string }) {
  if (kind === 'agent')
    return (
      <p className="flex flex-wrap gap-x-4">
        <Link to="/runs" search={{ name: id, kind: 'agent' }}>
          Its runs
        </Link>
        <Link to="/catalog" search={{ open: `agent/${id}` }}>
          Its entry in the catalog
        </Link>
      </p>
    );
  if (kind === 'key')
    return (
      <Link to="/keys" search={{ open: id }}>
        Its limits
      </Link>
    );
  if (kind === 'user')
    return (
      <Link to="/sessions" search={{ user: id.slice(id.indexOf('/') + 1) }}>
        Their sessions
      </Link>
    );
  return <Link to="/settings">The model provider</Link>;
}
