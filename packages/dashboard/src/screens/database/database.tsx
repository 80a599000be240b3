import { useSearchState } from '../../app/search.ts';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Query } from './query.tsx';
import { parseTableName } from './table-name.ts';
import { TableRows } from './table-rows.tsx';
import { TableList } from './table-list.tsx';

/** The tables of the project, and statements that read them. */
export default function Database() {
  const [{ tab, table }, change] = useSearchState();
  const tables = () => {
    if (!table) return <TableList />;
    return <TableRows key={table} {...parseTableName(table)} />;
  };
  return (
    <Page wide title="Database">
      <Tabs
        label="Database"
        value={tab === 'query' ? 'query' : 'tables'}
        onChange={(value) => change({ tab: value === 'query' ? value : undefined }, 'push')}
        tabs={[
          { id: 'tables', title: 'Tables', content: tables },
          { id: 'query', title: 'Query', content: () => <Query /> },
        ]}
      />
    </Page>
  );
}
