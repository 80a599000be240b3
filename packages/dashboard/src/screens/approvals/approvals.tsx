import { useEffect, useRef } from 'react';
import { useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Status } from '../../ui/badge.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { More } from '../../ui/more.tsx';
import { Page } from '../../ui/page.tsx';
import { Time } from '../../ui/time.tsx';
import { wholeOf } from './approval.ts';
import type { ListedApproval } from './approval.ts';
import { Detail } from './detail.tsx';
import { useKeys } from './keys.ts';

const SHOWN = [
  ['', 'To decide'],
  ['all', 'All'],
  ['approved', 'Approved'],
  ['rejected', 'Rejected'],
  ['expired', 'Expired'],
  ['cancelled', 'Cancelled'],
] as const;
const SOURCES = [
  ['', 'From anywhere'],
  ['tool', 'Calls of tools'],
  ['workflow', 'Workflows'],
  ['guardrail', 'Guardrails'],
] as const;

/** The inbox: what waits for a person, and the outcome of the rest. */
export default function Approvals() {
  const [{ status = '', source = '', open }, change] = useSearchState();
  const may = useMay();
  const list = useList(
    'approvals.list',
    {
      limit: 50,
      ...(status === 'all' ? {} : { status: (status || 'pending') as 'pending' }),
      ...(source === '' ? {} : { source: source as 'tool' }),
    },
    { keep: true },
  );
  const items: readonly ListedApproval[] = list.items ?? [];
  const shownId = open ?? items[0]?.approvalId;
  // Keys come faster than the address changes.
  const wanted = useRef(shownId);
  useEffect(() => void (wanted.current = shownId), [shownId]);
  const go = (by: number): void => {
    const at = items.findIndex(({ approvalId }) => approvalId === wanted.current);
    const next = items[Math.max(0, Math.min(items.length - 1, at + by))];
    if (!next) return;
    wanted.current = next.approvalId;
    change({ open: next.approvalId });
  };
  useKeys({ next: () => go(1), previous: () => go(-1) });
  useEffect(() => {
    document.querySelector('[data-approval][aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [shownId]);
  /** The one behind it comes up: so the inbox empties from wherever a person stands. */
  const onDecided = (id: string): void => {
    // A person who has gone on is left where they are.
    if (wanted.current !== id) return;
    const place = items.findIndex(({ approvalId }) => approvalId === id);
    const next = items[place + 1] ?? items[place - 1];
    change({ open: status === '' ? next?.approvalId : id });
  };
  return (
    <Page title="Approvals" wide>
      <div className="mb-3 flex flex-wrap gap-2">
        <Field label="Which" quiet>
          {(parts) => (
            <Select
              {...parts}
              value={status}
              options={SHOWN}
              onChange={(event) => change({ status: event.target.value, open: undefined }, 'push')}
            />
          )}
        </Field>
        <Field label="Who asks" quiet>
          {(parts) => (
            <Select
              {...parts}
              value={source}
              options={SOURCES}
              onChange={(event) => change({ source: event.target.value, open: undefined }, 'push')}
            />
          )}
        </Field>
      </div>
      {may('hitl:decide') && (
        <p className="mb-3 hidden text-xs text-muted md:block">
          Keys: <kbd>J</kbd> and <kbd>K</kbd> go through the list, <kbd>A</kbd> approves, <kbd>E</kbd> edits,{' '}
          <kbd>R</kbd> rejects.
        </p>
      )}
      <Answer of={{ ...list, data: list.items }}>
        {() =>
          items.length === 0 && open === undefined ? (
            <Nothing status={status} />
          ) : (
            <div className="grid gap-4 md:grid-cols-[20rem_minmax(0,1fr)]">
              <nav aria-label="Approvals" className="min-w-0">
                <ul
                  className="max-h-72 overflow-y-auto rounded-lg border border-line bg-panel md:max-h-[75dvh]"
                  tabIndex={0}
                >
                  {items.map((approval) => (
                    <Entry
                      key={approval.approvalId}
                      approval={approval}
                      isOpen={approval.approvalId === shownId}
                      onOpen={() => change({ open: approval.approvalId }, 'push')}
                    />
                  ))}
                  {items.length === 0 && <li className="px-3 py-2 text-muted">Nothing is left to decide.</li>}
                </ul>
                <More has={list.hasNextPage} busy={list.isFetchingNextPage} onMore={() => void list.fetchNextPage()} />
              </nav>
              {shownId !== undefined && (
                <Detail
                  key={shownId}
                  id={shownId}
                  known={wholeOf(items.find(({ approvalId }) => approvalId === shownId))}
                  onDecided={() => onDecided(shownId)}
                />
              )}
            </div>
          )
        }
      </Answer>
    </Page>
  );
}

// --- internal ---

function Nothing({ status }: { status: string }) {
  if (status !== '') return <Empty title="There is none">Show another state, or all of them.</Empty>;
  return (
    <Empty title="Nothing waits for you">
      A workflow asks with <code>requestApproval()</code>, an agent with <code>interruptOn</code>. What they ask appears
      here by itself.
    </Empty>
  );
}

function Entry({ approval, isOpen, onOpen }: { approval: ListedApproval; isOpen: boolean; onOpen(): void }) {
  const { approvalId, title, source, status, createdAt, expiresAt } = approval;
  return (
    <li className="border-b border-line last:border-0">
      <button
        type="button"
        data-approval={approvalId}
        aria-current={isOpen || undefined}
        onClick={onOpen}
        className="block w-full px-3 py-2 text-left hover:bg-raised aria-[current]:bg-accent-soft"
      >
        <span dir="auto" className="block truncate font-medium">
          {title}
        </span>
        <span className="flex items-center gap-2 text-xs text-muted">
          {status === 'pending' ? source : <Status value={status} />}
          <Time at={createdAt} />
          {status === 'pending' && expiresAt !== null && (
            <span>
              due <Time at={expiresAt} />
            </span>
          )}
        </span>
      </button>
    </li>
  );
}
