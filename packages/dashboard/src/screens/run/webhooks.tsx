import { useList } from '../../api/queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Code } from '../../ui/fact.tsx';
import { List } from '../../ui/list.tsx';
import { Time } from '../../ui/time.tsx';

/** The addresses a run has made for services to call. Who has one resumes the run. */
export function Webhooks({ id }: { id: string }) {
  const webhooks = useList('runs.webhooks', { id });
  return (
    <>
      <p className="mb-2 text-muted">Anyone who has an address can resume the run, without another credential.</p>
      <List
        of={webhooks}
        label="Webhook addresses"
        keyOf={({ token }) => token}
        columns={[
          {
            title: 'Address',
            cell: ({ url }) => (
              <>
                <Code>{url}</Code> <Copy text={url} what="the address" />
              </>
            ),
          },
          {
            title: 'State',
            cell: ({ isOpen }) => (isOpen ? <Badge tone="accent">takes calls</Badge> : <Badge>closed</Badge>),
          },
          {
            title: 'Answered by',
            wide: true,
            cell: ({ answers }) => (answers === 'manual' ? 'a step of the run' : 'the box'),
          },
          { title: 'Made', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
          { title: 'First called', cell: ({ firstCalledAt }) => <Time at={firstCalledAt} /> },
        ]}
        empty={
          <Empty title="It has made no address">
            <code>createWebhook()</code> in the workflow makes one, and waits until a service calls it.
          </Empty>
        }
      />
    </>
  );
}
