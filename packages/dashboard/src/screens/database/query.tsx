import { useEffect, useRef, useState } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { useBox } from '../../app/box.ts';
import { Button } from '../../ui/button.tsx';
import { Field, Textarea } from '../../ui/field.tsx';
import { Loading } from '../../ui/loading.tsx';
import { keep, readKept, remember } from './kept.ts';
import { QueryFailure } from './query-failure.tsx';
import { Result } from './result.tsx';

type Outcome =
  | { what: 'running' }
  | { what: 'answer'; answer: OperationOutput<'database.query'> }
  | { what: 'failure'; statement: string; error: unknown };

/** One statement, and what it answers. */
export function Query() {
  const box = useBox();
  const [kept, setKept] = useState(() => readKept(box));
  const [outcome, setOutcome] = useState<Outcome>();
  const editor = useRef<HTMLTextAreaElement>(null);
  const running = useRef<AbortController>(undefined);
  useEffect(() => keep(box, kept), [box, kept]);
  useEffect(() => () => running.current?.abort(), []);
  const { statement } = kept;
  const write = (next: string) => setKept((before) => ({ ...before, statement: next }));
  const take = (next: string) => {
    write(next);
    editor.current?.focus();
  };
  const run = async () => {
    if (statement.trim() === '' || outcome?.what === 'running') return;
    const stop = (running.current = new AbortController());
    setOutcome({ what: 'running' });
    setKept((before) => ({ ...before, history: remember(before, statement) }));
    try {
      const answer = await box.client.call('database.query', { sql: statement }, { signal: stop.signal });
      setOutcome({ what: 'answer', answer });
    } catch (error) {
      setOutcome(stop.signal.aborted ? undefined : { what: 'failure', statement, error });
    }
  };
  const select = (from: number, to: number) => {
    editor.current?.focus();
    editor.current?.setSelectionRange(from, to);
  };
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <Field
          label="Statement"
          hint="One that reads: select, with, values, table or explain. Ctrl+Enter (⌘Enter) runs it. It is kept in this page alone, not in its address."
        >
          {(parts) => (
            <Textarea
              {...parts}
              ref={editor}
              rows={6}
              maxLength={MOST}
              className="max-h-[60vh] field-sizing-content min-h-32"
              placeholder="select * from notes limit 10"
              value={statement}
              onChange={({ target }) => write(target.value)}
              onKeyDown={(event) => {
                if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
                event.preventDefault();
                void run();
              }}
            />
          )}
        </Field>
        <div className="mt-2 flex flex-wrap items-center gap-2">
          <Button type="submit" look="primary" busy={outcome?.what === 'running'} disabled={statement.trim() === ''}>
            Run
          </Button>
          {outcome?.what === 'running' && <Button onClick={() => running.current?.abort()}>Stop waiting</Button>}
          <RunsExample onTake={take} />
        </div>
      </form>
      <History statements={kept.history} onTake={take} />
      <div className="mt-4">
        {outcome?.what === 'running' && <Loading />}
        {outcome?.what === 'failure' && <QueryFailure {...outcome} current={statement} onSelect={select} />}
        {outcome?.what === 'answer' && <Result {...outcome.answer} />}
      </div>
    </>
  );
}

// --- internal ---

/** Characters of a statement. */
const MOST = 100_000;

const OF_RUNS = `select name, status, count(*), avg(ended_at - started_at) as took
from svc_view.runs
where created_at > now() - interval '1 day'
group by name, status
order by count desc`;

/** Runs can be counted where the box lists them among the tables. */
function RunsExample({ onTake }: { onTake(statement: string): void }) {
  const tables = useList('database.tables', {});
  if (!tables.items?.some(({ schema, name }) => schema === 'svc_view' && name === 'runs')) return null;
  return (
    <Button onClick={() => onTake(OF_RUNS)}>
      Count runs in <code>svc_view.runs</code>
    </Button>
  );
}

function History({ statements, onTake }: { statements: readonly string[]; onTake(statement: string): void }) {
  if (statements.length === 0) return null;
  return (
    <details className="mt-3">
      <summary className="w-fit text-muted">What was run in this page: {statements.length}</summary>
      <ul className="mt-1 max-h-60 overflow-y-auto rounded border border-line bg-panel" aria-label="What was run">
        {statements.map((statement) => (
          <li key={statement} className="border-b border-line last:border-0">
            <button
              type="button"
              className="block w-full truncate px-3 py-1.5 text-left font-mono text-xs outline-offset-[-2px] hover:bg-raised"
              onClick={() => onTake(statement)}
            >
              <bdi>{statement.trim().slice(0, 300).replaceAll(/\s+/g, ' ')}</bdi>
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
