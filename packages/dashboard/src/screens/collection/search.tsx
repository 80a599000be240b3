import { useState } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useChange } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Field, Input, Select, Textarea } from '../../ui/field.tsx';
import { Panel } from '../../ui/page.tsx';
import { Hits } from './hits.tsx';
import { parseObject } from '../../form/parse-json.ts';

type Mode = 'hybrid' | 'vector' | 'text';

/** What a search of code would find, with the scores and the places of it. */
export function Search({ name }: { name: string }) {
  const [{ q = '' }, change] = useSearchState();
  const search = useChange('rag.search', []);
  const [query, setQuery] = useState(q);
  const [mode, setMode] = useState<Mode>('hybrid');
  const [topK, setTopK] = useState('8');
  const [filter, setFilter] = useState('');
  const [unread, setUnread] = useState<unknown>();
  const run = () => {
    setUnread(undefined);
    try {
      const wanted = parseObject('The filter', filter);
      change({ q: query });
      search.mutate({
        name,
        query,
        mode,
        topK: Number(topK),
        ...(Object.keys(wanted).length === 0 ? {} : { filter: wanted as never }),
      });
    } catch (error) {
      setUnread(error);
    }
  };
  const refused = unread ?? search.error;
  return (
    <>
      <Panel>
        <form
          noValidate
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            run();
          }}
        >
          <Field label="What is looked for">
            {(parts) => (
              <Input {...parts} type="search" value={query} onChange={({ target }) => setQuery(target.value)} />
            )}
          </Field>
          <div className="grid gap-3 sm:grid-cols-2">
            <Field label="How">
              {(parts) => (
                <Select
                  {...parts}
                  value={mode}
                  onChange={({ target }) => setMode(target.value as Mode)}
                  options={[
                    ['hybrid', 'By meaning and by words'],
                    ['vector', 'By meaning alone'],
                    ['text', 'By words alone'],
                  ]}
                />
              )}
            </Field>
            <Field label="At most">
              {(parts) => (
                <Input {...parts} type="number" min={1} value={topK} onChange={({ target }) => setTopK(target.value)} />
              )}
            </Field>
          </div>
          <Field label="Filter" hint={'What the metadata of a document has to hold, as JSON: {"team": "billing"}'}>
            {(parts) => (
              <Textarea {...parts} rows={2} value={filter} onChange={({ target }) => setFilter(target.value)} />
            )}
          </Field>
          <div>
            <Button type="submit" look="primary" busy={search.isPending} disabled={query.trim() === ''}>
              Search
            </Button>
          </div>
        </form>
      </Panel>
      <div aria-live="polite">
        {refused !== undefined && refused !== null && <Failure error={refused} />}
        {search.data?.items.length === 0 && (
          <Empty title="Nothing was found">No chunk has the words, or no document fits the filter.</Empty>
        )}
        <Reranked of={search.data?.rerank} />
        {search.data && <Hits hits={search.data.items} onOpen={(document) => change({ document }, 'push')} />}
      </div>
    </>
  );
}

// --- internal ---

/** The outcome of the second look at what was found. */
function Reranked({ of: rerank }: { of: OperationOutput<'rag.search'>['rerank'] | undefined }) {
  if (!rerank) return null;
  return (
    <p className={`mb-3 text-xs wrap-anywhere ${rerank.applied ? 'text-muted' : 'text-warn'}`}>
      {rerank.applied ? 'Put in its order by' : 'Left in the order of the search by'} <code>{rerank.model}</code>
      {rerank.error !== null && <>: {rerank.error}</>}
    </p>
  );
}
