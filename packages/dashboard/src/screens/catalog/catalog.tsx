import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { List } from '../../ui/list.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { CodeState } from '../workflows/code-state.tsx';
import { Entry } from './entry.tsx';

type CatalogEntry = OperationOutput<'catalog.list'>['items'][number];

const KINDS = ['agent', 'workflow', 'tool', 'prompt'] as const;

/** What the workspace has: agents, workflows, tools and prompts. */
export default function Catalog() {
  const [{ kind: asked, system, open }, change] = useSearchState();
  const kind = KINDS.find((each) => each === asked);
  const isSystem = system === '1';
  const entries = useList(
    'catalog.list',
    { ...(kind ? { kind } : {}), ...(isSystem ? { system: true } : {}) },
    { keep: true },
  );
  const [openKind, ...openName] = (open ?? '').split('/');
  const opened = KINDS.find((each) => each === openKind);
  return (
    <Page title="Catalog">
      <div className="mb-3 flex flex-wrap items-center gap-4">
        <Field label="Which kind" quiet>
          {(parts) => (
            <Select
              {...parts}
              value={kind ?? ''}
              onChange={({ target }) => change({ kind: target.value })}
              options={[['', 'Everything'], ...KINDS.map((each) => [each, `${PLURALS[each]}`] as const)]}
            />
          )}
        </Field>
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            checked={isSystem}
            onChange={({ target }) => change({ system: target.checked ? '1' : undefined })}
          />
          System entries too
        </label>
      </div>
      <List
        of={entries}
        label="Catalog"
        keyOf={(entry) => `${entry.kind}/${entry.name}`}
        columns={[
          {
            title: 'Name',
            cell: (entry: CatalogEntry) => (
              <Button
                look="quiet"
                className="!justify-start !px-1 text-left !whitespace-normal text-accent underline wrap-anywhere"
                onClick={() => change({ open: `${entry.kind}/${entry.name}` }, 'push')}
              >
                <bdi>{entry.name}</bdi>
              </Button>
            ),
          },
          ...COLUMNS,
        ]}
        empty={
          <Empty title="Nothing of that kind is here">
            Agents live in <code>deep-agents/</code>, workflows in <code>workflows/</code>; <code>svc add</code> makes
            one of either.
          </Empty>
        }
      />
      {opened && <Entry kind={opened} name={openName.join('/')} onClose={() => change({ open: undefined }, 'back')} />}
    </Page>
  );
}

// --- internal ---

const PLURALS = { agent: 'Agents', workflow: 'Workflows', tool: 'Tools', prompt: 'Prompts' } as const;

const COLUMNS: readonly Column<CatalogEntry>[] = [
  {
    title: 'Kind',
    cell: ({ kind, isSystem, isHidden }) => (
      <span className="flex flex-wrap gap-1">
        <Badge>{kind}</Badge>
        {isSystem && <Badge tone="accent">box</Badge>}
        {isHidden && <Badge tone="warn">hidden</Badge>}
      </span>
    ),
  },
  { title: 'State', cell: ({ health, problem }) => <CodeState state={health} problem={problem} /> },
  {
    title: 'Model',
    wide: true,
    cell: ({ model }) => <code className="text-xs wrap-anywhere">{model?.effective ?? '–'}</code>,
  },
  { title: 'About', wide: true, cell: ({ description }) => <bdi className="wrap-anywhere">{description ?? '–'}</bdi> },
];
