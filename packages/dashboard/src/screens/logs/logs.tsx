import { useState } from 'react';
import { useSearchState } from '../../app/search.ts';
import { Button } from '../../ui/button.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Page } from '../../ui/page.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { LogLines } from './log-lines.tsx';
import { useLogs } from './use-logs.ts';

const LEVELS = [
  ['', 'All levels'],
  ['info', 'Info and above'],
  ['warn', 'Warnings and errors'],
  ['error', 'Errors'],
] as const;

export default function Logs() {
  const [search, setSearch] = useSearchState();
  const [isPaused, setPaused] = useState(false);
  const { level, text, name, run } = search;
  const lines = useLogs(
    {
      ...(level ? { level: level as 'info' } : {}),
      ...(text ? { text } : {}),
      ...(name ? { name } : {}),
      ...(run ? { run } : {}),
    },
    isPaused,
  );
  const isNarrow = Boolean(level || text || name || run);
  return (
    <Page
      wide
      title="Logs"
      actions={
        <Button aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Go on' : 'Pause'}
        </Button>
      }
    >
      <div className="mb-3 grid gap-2 sm:grid-cols-2 lg:grid-cols-4">
        <Field label="Level" quiet>
          {(parts) => (
            <Select
              {...parts}
              options={LEVELS}
              value={level ?? ''}
              onChange={({ target }) => setSearch({ level: target.value })}
            />
          )}
        </Field>
        <SearchField label="Text" value={text} onChange={(value) => setSearch({ text: value })} />
        <SearchField label="Agent or workflow" value={name} onChange={(value) => setSearch({ name: value })} />
        <SearchField label="Run id" value={run} onChange={(value) => setSearch({ run: value })} />
      </div>
      <LogLines {...lines} empty={isNarrow ? 'No record is like that' : 'Nothing was logged yet'} />
    </Page>
  );
}
