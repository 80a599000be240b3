import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import { Badge } from '../../ui/badge.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import { New } from '../../ui/new.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { NewPrompt } from './new-prompt.tsx';
import { OWNER_KINDS, ownerOf } from './owner.ts';
import type { OwnerKind } from './owner.ts';

type Prompt = OperationOutput<'prompts.list'>['items'][number];

/** The texts that agents and workflows ask for. */
export default function Prompts() {
  const [{ owner }, change] = useSearchState();
  const ownerKind = OWNER_KINDS.find((kind) => kind === owner);
  const prompts = useList('prompts.list', ownerKind ? { ownerKind } : {}, { keep: true });
  return (
    <Page title="Prompts" actions={<New label="New prompt">{(close) => <NewPrompt onClose={close} />}</New>}>
      <div className="mb-3 max-w-60">
        <Field label="Whose prompts" quiet>
          {(parts) => (
            <Select
              {...parts}
              value={ownerKind ?? ''}
              onChange={({ target }) => change({ owner: target.value })}
              options={[['', 'Of everything'], ...OWNER_KINDS.map((kind) => [kind, OF[kind]] as const)]}
            />
          )}
        </Field>
      </div>
      <List
        of={prompts}
        label="Prompts"
        keyOf={({ id }) => id}
        columns={COLUMNS}
        empty={
          <Empty title="There is no prompt here">
            A prompt is text that is changed without a deployment: <code>instructions</code> of an agent take the place
            of those in its code, and code reads others with <code>svc.prompts.get</code>.
          </Empty>
        }
      />
    </Page>
  );
}

// --- internal ---

const OF: Record<OwnerKind, string> = {
  agent: 'Of agents',
  workflow: 'Of workflows',
  workspace: 'Of the workspace',
};

const COLUMNS: readonly Column<Prompt>[] = [
  {
    title: 'Name',
    cell: ({ id, name }) => (
      <Link to={`/prompts/${id}`}>
        <bdi>{name}</bdi>
      </Link>
    ),
  },
  { title: 'Of', cell: (prompt) => <bdi>{ownerOf(prompt)}</bdi> },
  { title: 'Key', wide: true, cell: ({ key }) => <code className="text-xs">{key}</code> },
  {
    title: 'In force',
    cell: ({ publishedVersion, latestVersion }) => (
      <span className="flex flex-wrap gap-1">
        {publishedVersion === null ? <Badge>none</Badge> : <Badge tone="good">v{publishedVersion}</Badge>}
        {latestVersion !== publishedVersion && <Badge tone="warn">draft v{latestVersion}</Badge>}
      </span>
    ),
  },
  { title: 'Changed', wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
];
