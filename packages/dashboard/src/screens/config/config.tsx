import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { previewOf } from '../../ui/json/rows.ts';
import { List } from '../../ui/list.tsx';
import { Page } from '../../ui/page.tsx';
import { Time } from '../../ui/time.tsx';
import { ConfigKey } from './config-key.tsx';

type ConfigValue = OperationOutput<'config.list'>['items'][number];

/** What code reads, and people change without a deployment. */
export default function Config() {
  const [{ key }, change] = useSearchState();
  const values = useList('config.list', {});
  return (
    <Page title="Config">
      <List
        of={values}
        label="Config"
        keyOf={(value) => value.key}
        columns={[
          {
            title: 'Key',
            cell: (value: ConfigValue) => (
              <>
                <code className="wrap-anywhere">{value.key}</code>
                {value.description && <bdi className="block text-muted">{value.description}</bdi>}
              </>
            ),
          },
          {
            title: 'Value',
            cell: ({ value, isSet, problem }) => (
              <span className="flex flex-wrap items-center gap-2">
                <code className="text-xs wrap-anywhere">
                  <bdi>{previewOf(value)}</bdi>
                </code>
                {!isSet && <Badge>default</Badge>}
                {problem && <Badge tone="bad">does not fit</Badge>}
              </span>
            ),
          },
          { title: 'Changed', wide: true, cell: ({ changedAt }) => <Time at={changedAt} /> },
          { title: 'By', wide: true, cell: ({ changedBy }) => <bdi>{changedBy ?? '–'}</bdi> },
          {
            title: 'Actions',
            end: true,
            cell: (value) => (
              <Button small aria-label={`Change ${value.key}`} onClick={() => change({ key: value.key }, 'push')}>
                Change
              </Button>
            ),
          },
        ]}
        empty={
          <Empty title="The workspace declares no config">
            Declare keys with their schemas in <code>config.schema.ts</code>; code reads them with{' '}
            <code>svc.config.get</code>.
          </Empty>
        }
      />
      {key && <ConfigKey name={key} onClose={() => change({ key: undefined }, 'back')} />}
    </Page>
  );
}
