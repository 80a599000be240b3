import { useEffect, useMemo, useRef, useState } from 'react';
import { useCall } from '../api/queries.ts';
import { check } from '../form/check.ts';
import type { Issue } from '../form/check.ts';
import { readIssues } from '../form/issues.ts';
import { ModeSwitch } from '../form/mode-switch.tsx';
import { hasFields, SchemaForm, useSchemaForm } from '../form/schema-form.tsx';
import type { FormMode } from '../form/schema-form.tsx';
import { isRecord } from '../form/path.ts';
import { describe } from '../form/schema.ts';
import type { JsonSchema } from '../form/schema.ts';
import { schemaLike } from '../form/shape.ts';
import { Button } from '../ui/button.tsx';
import { Loading } from '../ui/loading.tsx';
import { Changes } from './changes-list.tsx';
import { NoteField, toNote } from './note.tsx';

export interface EditArgumentsProps {
  /** Whose arguments they are. */
  approvalId: string;
  args: unknown;
  busy: boolean;
  /** Why they were not taken as they were sent last. */
  refused: unknown;
  onCancel(): void;
  onSend(input: unknown, note: { note?: string }): void;
}

/** Arguments by a form of the schema of what takes them, or as JSON, with what is another in them than what was asked. */
export function EditArguments(props: EditArgumentsProps) {
  const { approvalId, args } = props;
  const { data, isPending } = useCall('approvals.get', { id: approvalId });
  // An older box does not say it.
  const given = data?.inputSchema as JsonSchema | null | undefined;
  const schema = useMemo(() => given ?? schemaLike(args), [given, args]);
  // A workflow shows one thing and may want another.
  const initial = useMemo(
    () => (given && data?.source === 'workflow' ? pickMembers(args, given) : args),
    [given, data?.source, args],
  );
  if (isPending) return <Loading rows={3} />;
  return <ArgumentsForm {...props} args={initial} schema={schema} isGiven={Boolean(given)} />;
}

// --- internal ---

/** What of a value a schema has a member for. Undefined: nothing of it. */
function pickMembers(value: unknown, schema: JsonSchema): unknown {
  const node = describe(schema, schema);
  if (node.kind !== 'object' || !isRecord(value)) return undefined;
  const known = node.members.filter(({ name }) => Object.hasOwn(value, name));
  return known.length > 0 ? Object.fromEntries(known.map(({ name }) => [name, value[name]])) : undefined;
}

const NO_ISSUES: readonly Issue[] = [];

function ArgumentsForm({
  args,
  busy,
  refused,
  onCancel,
  onSend,
  schema,
  isGiven,
}: EditArgumentsProps & { schema: JsonSchema; isGiven: boolean }) {
  const asForm = hasFields(schema);
  const [mode, setMode] = useState<FormMode>(asForm ? 'form' : 'json');
  const [form, dispatch] = useSchemaForm(schema, args ?? undefined);
  const [issues, setIssues] = useState(NO_ISSUES);
  const [note, setNote] = useState('');
  const element = useRef<HTMLFormElement>(null);
  const focus = (selector: string) =>
    requestAnimationFrame(() => element.current?.querySelector<HTMLElement>(selector)?.focus());
  useEffect(() => void focus(FIELDS), [mode]);
  useEffect(() => {
    const said = readIssues((refused as { details?: unknown } | null | undefined)?.details);
    if (said) setIssues(said);
  }, [refused]);
  // Once the fields show them: a frame asked for as they are set may come before that.
  useEffect(() => {
    if (issues.length > 0) focus(WRONG);
  }, [issues]);
  const send = (): void => {
    const found = isGiven ? check(schema, form.value) : NO_ISSUES;
    setIssues(found);
    if (found.length > 0 || form.drafts.size > 0) return void focus(WRONG);
    onSend(form.value, toNote(note));
  };
  return (
    <form
      ref={element}
      noValidate
      aria-label="Other arguments"
      className="mt-2 space-y-3 text-text"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
        if (event.key === 'Escape') onCancel();
      }}
    >
      {asForm && <ModeSwitch label="How the arguments are written" mode={mode} onChange={setMode} />}
      <SchemaForm schema={schema} state={form} dispatch={dispatch} issues={issues} mode={mode} label="Arguments" />
      {args !== undefined && <Changes title="What you have changed" before={args} after={form.value} />}
      <NoteField value={note} onChange={setNote} />
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" look="primary" busy={busy}>
          Approve with these
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
        <span className="text-xs text-muted">Ctrl+Enter, Esc</span>
      </div>
    </form>
  );
}

const FIELDS = 'input, textarea, select';
const WRONG = '[aria-invalid="true"]';
