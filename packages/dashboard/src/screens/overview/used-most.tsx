import { Answer } from '../../ui/answer.tsx';
import { toCost } from '../../ui/cost.ts';
import { toCount } from '../../ui/count.ts';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { Panel } from '../../ui/page.tsx';
import { useNow } from '../../ui/time.tsx';
import { listMonths } from '../usage/month.ts';
import { useUsed } from '../usage/use-used.ts';

/** The agents that have used most of models this month. */
export function UsedMost() {
  const [month = ''] = listMonths(useNow(60_000), 1);
  const used = useUsed({ kind: 'agent', month, period: 'month' });
  return (
    <Panel title="Used this month" actions={<Link to="/usage">Usage</Link>}>
      <Answer of={used} rows={3}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No agent has used a model">
              Say something in the <Link to="/playground">Playground</Link>.
            </Empty>
          ) : (
            <ul>
              {items
                .toSorted((a, b) => b.cost - a.cost || b.tokens - a.tokens)
                .slice(0, FEW)
                .map(({ id, tokens, cost }) => (
                  <li key={id} className="flex gap-2 py-1">
                    <Link to="/usage" search={{ id }} className="min-w-0 flex-1 truncate text-accent">
                      <bdi>{id}</bdi>
                    </Link>
                    <span className="tabular-nums">{toCount(tokens)} tokens</span>
                    {cost > 0 && <span className="text-muted tabular-nums">{toCost(cost)}</span>}
                  </li>
                ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  );
}

// --- internal ---

const FEW = 5;
