import { useFollowWork } from '../../api/follow-work.ts';
import { useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs, useSearchState } from '../../app/search.ts';
import { AgentFilter } from '../../ui/agent-filter.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { List } from '../../ui/list.tsx';
import { Page } from '../../ui/page.tsx';
import { Forget } from './forget.tsx';
import { toColumns } from './columns.tsx';

/** What agents remember of earlier sessions of their end users, the newest first. */
export default function Memory() {
  const [{ agent = '', user = '', client = '' }, change] = useSearchState();
  const mayForget = useMay()('sessions:delete');
  const { asked, ask, close } = useDialogs('forget');
  const filter = {
    ...(agent === '' ? {} : { agent }),
    ...(user === '' ? {} : { user }),
    ...(client === '' ? {} : { client }),
  };
  const turns = useList('memory.list', { limit: 50, ...filter }, { keep: true });
  useFollowWork('memory', turns.items?.some(({ state }) => state === 'queued' || state === 'embedding') ?? false);
  const isAll = Object.keys(filter).length === 0;
  return (
    <Page
      title="Memory"
      actions={
        mayForget &&
        user !== '' && (
          <Button look="danger" disabled={!turns.items?.length} onClick={() => ask('forget')}>
            Forget this user
          </Button>
        )
      }
    >
      <div className="mb-3 flex flex-wrap gap-2">
        <AgentFilter agent={agent} onChange={(name) => change({ agent: name === '' ? undefined : name }, 'push')} />
        {(['user', 'client'] as const).map((member) => (
          <Field key={member} label={member === 'user' ? 'User' : 'Client'} quiet>
            {(parts) => (
              <Input
                {...parts}
                type="search"
                placeholder={member === 'user' ? 'User of a client' : 'Client'}
                value={member === 'user' ? user : client}
                onChange={({ target }) => change({ [member]: target.value === '' ? undefined : target.value })}
              />
            )}
          </Field>
        ))}
      </div>
      <List
        of={turns}
        label="Remembered turns"
        keyOf={({ runId }) => runId}
        columns={toColumns((of, from) => change({ user: of, client: from ?? undefined }, 'push'))}
        empty={
          <Empty title="Nothing is remembered">
            {isAll ? (
              <>
                An agent whose definition has <code>memory: true</code> is reminded of earlier sessions of its end user.
                What it keeps is listed here.
              </>
            ) : (
              'Nothing of that agent, user and client. Names are looked for as they are, whole.'
            )}
          </Empty>
        }
      />
      {asked.forget && mayForget && user !== '' && <Forget filter={{ ...filter, user }} onClose={close} />}
    </Page>
  );
}
