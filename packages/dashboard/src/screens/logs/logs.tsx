import { useSearchState } from '../../app/search.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Page } from '../../ui/page.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { readTime, TimeField } from '../../ui/time-field.tsx';
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
  const { level, text, name, run, session, step } = search;
  const isPaused = search.paused === 'yes';
  const [from, to] = [readTime(search.from), readTime(search.to)];
  const lines = useLogs(
    {
      ...(level ? { level: level as 'info' } : {}),
      ...(text ? { text } : {}),
      ...(name ? { name } : {}),
      ...(run ? { run } : {}),
      ...(session ? { session } : {}),
      ...(step ? { step } : {}),
      ...(from ? { from } : {}),
      ...(to ? { to } : {}),
    },
    isPaused,
  );
  const isNarrow = [level, text, name, run, session, step, from, to].some(Boolean);
  return (
    <Page
      wide
      title="Logs"
      actions={
        <Button aria-pressed={isPaused} onClick={() => setSearch({ paused: isPaused ? undefined : 'yes' })}>
          {isPaused ? 'Go on' : 'Pause'}
        </Button>
      }
    >
      <div className="mb-3 grid items-end gap-2 sm:grid-cols-2 lg:grid-cols-4">
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
        <SearchField label="Session id" value={session} onChange={(value) => setSearch({ session: value })} />
        <SearchField label="Step or tool" value={step} onChange={(value) => setSearch({ step: value })} />
        <TimeField label="From" value={from} onChange={(value) => setSearch({ from: value })} />
        <TimeField label="Before" value={to} onChange={(value) => setSearch({ to: value })} />
      </div>
      <LogLines
        {...lines}
        empty={
          isNarrow ? (
            <Empty title="No record matches">Change or clear the filters.</Empty>
          ) : (
            <Empty title="Nothing was logged yet">
              What code logs with <code>svc.log</code>, and what the box logs, appears here by itself.
            </Empty>
          )
        }
      />
    </Page>
  );
}
