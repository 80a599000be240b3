import { useChange, useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs } from '../../app/search.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Delete } from '../../ui/delete.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import { Menu } from '../../ui/menu.tsx';
import type { Column } from '../../ui/table.tsx';
import { useOrder } from './use-order.ts';
import { RuleForm } from './rule-form.tsx';
import { ACTION_TONES, labelOf, scopeOf, summaryOf } from './rule.ts';
import type { Rule } from './rule.ts';

/** All rules in the order in which they are asked. */
export function Rules() {
  const mayWrite = useMay()('guardrails:write');
  const rules = useList('guardrails.list', {});
  const { asked, ask, close } = useDialogs('change', 'delete');
  const order = useOrder(rules.items ?? []);
  const update = useChange('guardrails.update');
  const find = (id?: string) => rules.items?.find((rule) => rule.id === id && rule.origin === 'api');
  const [changed, deleted] = mayWrite ? [find(asked.change), find(asked.delete)] : [];
  const place: Column<Rule> = {
    title: '#',
    end: true,
    narrow: true,
    cell: (rule) => {
      const number = (rules.items ?? []).findIndex(({ id }) => id === rule.id) + 1;
      if (!mayWrite || rule.origin !== 'api') return number;
      return (
        <span className="flex cursor-grab touch-none justify-end gap-1.5 select-none" {...order.handleOf(rule)}>
          <span aria-hidden className="text-muted" title="Drag it to its place">
            ⠿
          </span>
          {number}
        </span>
      );
    },
  };
  const actions: Column<Rule> = {
    title: 'Actions',
    end: true,
    cell: (rule) =>
      rule.origin === 'api' && (
        <span className="flex flex-wrap justify-end gap-1">
          <Button
            small
            id={`earlier-${rule.id}`}
            aria-label={`Ask ${rule.name} earlier`}
            disabled={order.isFirst(rule)}
            onClick={() => order.press(rule, 'earlier')}
          >
            ↑
          </Button>
          <Button
            small
            id={`later-${rule.id}`}
            aria-label={`Ask ${rule.name} later`}
            disabled={order.isLast(rule)}
            onClick={() => order.press(rule, 'later')}
          >
            ↓
          </Button>
          <Button small aria-label={`Change ${rule.name}`} onClick={() => ask('change', rule.id)}>
            Change
          </Button>
          <Menu
            small
            label={
              <>
                More<span className="sr-only"> of {rule.name}</span>
              </>
            }
            items={[
              {
                label: rule.enabled ? 'Switch off' : 'Switch on',
                onSelect: () => update.mutate({ id: rule.id, enabled: !rule.enabled }),
              },
              { label: 'Delete', danger: true, onSelect: () => ask('delete', rule.id) },
            ]}
          />
        </span>
      ),
  };
  const refused = order.error ?? update.error;
  return (
    <>
      {refused && <Failure error={refused} />}
      <p aria-live="polite" className="sr-only">
        {order.said}
      </p>
      <List
        of={rules}
        label="Rules"
        keyOf={({ id }) => id}
        markOf={order.markOf}
        columns={[place, ...COLUMNS, ...(mayWrite ? [actions] : [])]}
        empty={
          <Empty title="There is no rule yet">
            A rule looks at what goes into workflows and agents, at what agents say, and at the calls and results of
            their tools; what it finds is blocked, masked, held for an operator, or recorded.
          </Empty>
        }
      />
      {changed && <RuleForm key={changed.id} rule={changed} onClose={close} />}
      {deleted && <DeleteThis rule={deleted} onClose={close} />}
    </>
  );
}

// --- internal ---

const COLUMNS: readonly Column<Rule>[] = [
  {
    title: 'Rule',
    cell: ({ id, name, note, enabled, file, problem }) => (
      <>
        <span className="flex flex-wrap items-center gap-2">
          <Link to="/guardrails" search={{ rule: id }}>
            <bdi className="wrap-anywhere">{name}</bdi>
          </Link>
          {!enabled && <Badge>off</Badge>}
          {problem && <Badge tone="bad">{file === null ? 'cannot judge' : 'does not load'}</Badge>}
        </span>
        {file && <code className="block text-xs wrap-anywhere text-muted">{file}</code>}
        {problem && <bdi className="block text-xs wrap-anywhere text-bad">{problem}</bdi>}
        {note && <bdi className="block max-w-80 text-xs wrap-anywhere text-muted">{note}</bdi>}
      </>
    ),
  },
  { title: 'Does', cell: ({ action }) => <Badge tone={ACTION_TONES[action]}>{action}</Badge> },
  {
    title: 'Looks for',
    wide: true,
    cell: ({ check }) => (
      <code className="block max-w-80 truncate text-xs">
        <bdi>{summaryOf(check)}</bdi>
      </code>
    ),
  },
  { title: 'Where', wide: true, cell: ({ sides }) => sides.map(labelOf).join(', ') },
  { title: 'Of', wide: true, cell: ({ attachment }) => <bdi>{scopeOf(attachment)}</bdi> },
];

function DeleteThis({ rule: { id, name }, onClose }: { rule: Rule; onClose(): void }) {
  const remove = useChange('guardrails.delete');
  return (
    <Delete name={`“${name}”`} onDelete={() => remove.mutateAsync({ id })} onClose={onClose}>
      What it looks for passes from now on. What it has found stays listed.
    </Delete>
  );
}
