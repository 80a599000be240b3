import { useState } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useChange, useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { check } from '../../form/check.ts';
import type { Issue } from '../../form/check.ts';
import { readIssues } from '../../form/issues.ts';
import { hasFields, SchemaForm, useSchemaForm } from '../../form/schema-form.tsx';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Failure } from '../../ui/failure.tsx';
import { previewOf } from '../../ui/json/rows.ts';
import { Time } from '../../ui/time.tsx';
import { toast } from '../../ui/toast.tsx';
import { Refused } from '../../ui/refused.tsx';

type ConfigValue = OperationOutput<'config.get'>;

/** One key: its value is written by its schema, and no one's change in between is lost. */
export function ConfigKey({ name, onClose }: { name: string; onClose(): void }) {
  const value = useCall('config.get', { key: name });
  return (
    <Dialog title={name} wide onClose={onClose}>
      <Answer of={value}>{(detail) => <Editor key={name} value={detail} onClose={onClose} />}</Answer>
      <History name={name} />
    </Dialog>
  );
}

// --- internal ---

const NO_ISSUES: readonly Issue[] = [];

function Editor({ value, onClose }: { value: ConfigValue; onClose(): void }) {
  const mayWrite = useMay()('config:write');
  const { key, type, revision, isSet, problem, description } = value;
  const [form, dispatch] = useSchemaForm(type, value.value);
  const [isJson, setJson] = useState(!hasFields(type));
  const [issues, setIssues] = useState(NO_ISSUES);
  // What is set is what someone has looked at: the revision that the form began with, or has been notified of since.
  const [seen, setSeen] = useState(revision);
  const set = useChange('config.set');
  const unset = useChange('config.delete');
  const save = async (): Promise<void> => {
    const found = check(type, form.value);
    setIssues(found);
    if (found.length > 0 || form.drafts.size > 0) return;
    try {
      await set.mutateAsync({ key, value: form.value, ifMatch: `"${seen}"` });
      toast(`${key} is set.`);
      onClose();
    } catch (error) {
      setIssues(readIssues((error as { details?: unknown }).details) ?? NO_ISSUES);
    }
  };
  const drop = async (): Promise<void> => {
    try {
      await unset.mutateAsync({ key });
      toast(`The default of ${key} is in force.`);
      onClose();
    } catch {
      // Said below.
    }
  };
  const error = (issues.length === 0 ? set.error : undefined) ?? unset.error;
  return (
    <form
      noValidate
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {description && <bdi className="text-muted">{description}</bdi>}
      {problem && (
        <p className="text-bad">
          <bdi>{problem}</bdi>
        </p>
      )}
      <SchemaForm
        schema={type}
        state={form}
        dispatch={dispatch}
        issues={issues}
        mode={isJson ? 'json' : 'form'}
        label="Value"
      />
      {error ? <Failure error={error} /> : null}
      {revision !== seen && (
        <div role="status" className="rounded border border-warn bg-warn-soft px-3 py-2">
          <p>
            Meanwhile <bdi>{value.changedBy ?? 'somebody'}</bdi> has changed it:{' '}
            <code className="wrap-anywhere">
              <bdi>{previewOf(value.value)}</bdi>
            </code>
          </p>
          <p className="mt-2 flex flex-wrap gap-2">
            <Button
              small
              onClick={() => {
                dispatch({ type: 'replace', value: value.value });
                setSeen(revision);
                set.reset();
              }}
            >
              Take that value
            </Button>
            <Button
              small
              onClick={() => {
                setSeen(revision);
                set.reset();
              }}
            >
              Keep mine
            </Button>
          </p>
        </div>
      )}
      <div className="flex flex-wrap gap-2">
        {mayWrite && (
          <Button type="submit" look="primary" busy={set.isPending}>
            Set
          </Button>
        )}
        {mayWrite && isSet && (
          <Button busy={unset.isPending} onClick={() => void drop()}>
            Use the default: <code className="max-w-40 truncate">{previewOf(value.default)}</code>
          </Button>
        )}
        {hasFields(type) && <Button onClick={() => setJson(!isJson)}>{isJson ? 'As a form' : 'As JSON'}</Button>}
        <Button onClick={onClose}>Close</Button>
      </div>
    </form>
  );
}

function History({ name }: { name: string }) {
  const history = useList('config.history', { key: name, limit: 20 });
  const { items = [], hasNextPage, fetchNextPage } = history;
  if (items.length === 0) return <Refused of={history} what="Its history" />;
  return (
    <div className="mt-5">
      <h3 className="mb-1 font-medium">History</h3>
      <Refused of={history} what="More of it" />
      <ol className="flex flex-col gap-1">
        {items.map(({ revision, isSet, value, changedBy, changedAt }) => (
          <li key={revision} className="flex flex-wrap items-center gap-2">
            <Badge>{revision}</Badge>
            <code className="text-xs wrap-anywhere">
              <bdi>{isSet ? previewOf(value) : 'the default'}</bdi>
            </code>
            <span className="text-muted">
              <bdi>{changedBy}</bdi>, <Time at={changedAt} />
            </span>
          </li>
        ))}
      </ol>
      {hasNextPage && (
        <Button small className="mt-2" onClick={() => void fetchNextPage()}>
          Show more
        </Button>
      )}
    </div>
  );
}
