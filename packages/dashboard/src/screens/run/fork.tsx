import { useState } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { newId } from '../../api/new-id.ts';
import { useCall, useChange } from '../../api/queries.ts';
import { useGoOn } from '../../app/search.ts';
import { parseJson } from '../../form/parse-json.ts';
import { Answer } from '../../ui/answer.tsx';
import { Field, Select, Textarea } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { isFinal } from './final.ts';

type Run = OperationOutput<'runs.get'>;
type Preview = OperationOutput<'runs.fork_preview'>;
type As = Preview['as'];

export interface ForkProps {
  run: Run;
  /** The number of a step, or `start`. */
  from: string;
  /** What may be edited: the arguments of the step, or the input from the start. Absent: nothing. */
  value?: unknown;
  onClose(): void;
}

/** Shows what would be executed again, and does exactly that. */
export function ForkDialog({ run, from, value, onClose }: ForkProps) {
  const goOn = useGoOn();
  const [as, setAs] = useState<As>('fork');
  const shown = JSON.stringify(value, null, 2) ?? '';
  const [text, setText] = useState(shown);
  const preview = useCall('runs.fork_preview', { id: run.runId, from, as });
  const fork = useChange('runs.fork');
  const rewind = useChange('runs.rewind');
  // A click after a lost answer is answered with what the first has made.
  const [idempotencyKey] = useState(() => newId());
  const isStart = from === 'start';
  const mayRewind = !isFinal(run) && run.parentRunId === null;
  const submit = async () => {
    const edited = text === shown ? {} : isStart ? { input: parseJson('The input', text) } : { args: readList(text) };
    const given = { id: run.runId, from, etag: preview.data?.etag ?? '', idempotencyKey, ...edited };
    try {
      const receipt = await (as === 'rewind' ? rewind : fork).mutateAsync(given);
      toast(receipt.status === 'started' ? 'A new run was started.' : 'The new run is queued.');
      if (receipt.status === 'started') await goOn(`/runs/${receipt.runId}`);
      else onClose();
    } catch (error) {
      // What is shown next is its present state.
      void preview.refetch();
      throw error;
    }
  };
  return (
    <FormDialog
      title={
        isStart ? `Fork this run of "${run.name}" from its start` : `Fork this run of "${run.name}" from step ${from}`
      }
      verb={as === 'rewind' ? 'Cancel it and fork' : 'Fork'}
      incomplete={preview.data === undefined || preview.isFetching}
      onSubmit={submit}
      onClose={onClose}
    >
      {mayRewind && (
        <Field label="The run itself">
          {(parts) => (
            <Select
              {...parts}
              value={as}
              onChange={(event) => setAs(event.target.value as As)}
              options={[
                ['fork', 'goes on beside the new one'],
                ['rewind', 'is cancelled: the new one takes its place'],
              ]}
            />
          )}
        </Field>
      )}
      <Answer of={preview} rows={4}>
        {(known) => <Again preview={known} />}
      </Answer>
      {value !== undefined && (
        <Field
          label={isStart ? 'Input' : 'Arguments of the step'}
          hint={isStart ? 'As JSON.' : 'A list, as JSON. What you leave as it is keeps its type, such as a date.'}
        >
          {(parts) => (
            <Textarea
              {...parts}
              rows={Math.min(12, text.split('\n').length)}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
      )}
    </FormDialog>
  );
}

// --- internal ---

function readList(text: string): unknown[] {
  const value = parseJson('What the step is given', text);
  if (!Array.isArray(value)) throw new Error('The arguments of a step are a list: [ … ].');
  return value;
}

function Again({ preview }: { preview: Preview }) {
  const { taken, again, againTokens, heldHooks = [], ends } = preview;
  return (
    <div className="text-sm">
      <p>
        {taken.steps === 0
          ? 'Nothing is taken'
          : `${plural(taken.steps, 'step')} of it ${taken.steps === 1 ? 'is' : 'are'} taken as recorded`}
        {taken.totalTokens > 0 && `, with ${plural(taken.totalTokens, 'token')}`}.{' '}
        {again.length === 0
          ? 'Nothing that is recorded is executed again.'
          : 'Executed again, unless the code has changed:'}
      </p>
      {again.length > 0 && (
        <ul aria-label="Executed again" className="mt-1 max-h-60 overflow-y-auto rounded border border-line">
          {again.map(({ kind, name, count, done, isEffect, totalTokens }) => (
            <li
              key={`${kind} ${name}`}
              className="flex flex-wrap gap-x-2 border-b border-line px-2.5 py-1 last:border-0"
            >
              <span className="min-w-0 flex-1 font-medium wrap-anywhere">
                <bdi>{name}</bdi> <span className="font-normal text-muted">{kind}</span>
              </span>
              <span className="text-muted tabular-nums">
                {plural(count, 'call')}
                {totalTokens > 0 && ` · ${plural(totalTokens, 'token')}`}
              </span>
              {isEffect && done > 0 && (
                <span className="text-warn">done {done === 1 ? 'once' : `${done}×`} already</span>
              )}
            </li>
          ))}
        </ul>
      )}
      {againTokens > 0 && <p className="mt-1 text-muted">{plural(againTokens, 'token')} the last time.</p>}
      {heldHooks.map(({ step, by }) => (
        <p key={step} className="mt-1 text-warn">
          {by === 'source' ? 'This run' : 'Another open run'} still has the token of the hook of step {step}: the fork
          fails there, unless it makes another.
        </p>
      ))}
      {ends && <p className="mt-1">It is cancelled with the runs it started, and without its clean-up.</p>}
    </div>
  );
}

function plural(count: number, word: string): string {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
}
