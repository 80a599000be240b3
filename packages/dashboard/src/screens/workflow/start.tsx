import { useState } from 'react';
import { useCall, useChange } from '../../api/queries.ts';
import { useDialogs, useSearchState } from '../../app/search.ts';
import { check } from '../../form/check.ts';
import type { Issue } from '../../form/check.ts';
import { readIssues } from '../../form/issues.ts';
import { ModeSwitch } from '../../form/mode-switch.tsx';
import { hasFields, SchemaForm, useSchemaForm } from '../../form/schema-form.tsx';
import type { JsonSchema } from '../../form/schema.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { EarlierInputs } from './earlier-inputs.tsx';
import { Followed } from './followed.tsx';
import { StartMany } from './start-many.tsx';
import { StartOptions, toStartInput } from './start-options.tsx';

/** The input is written, the workflow is started, and what happens to it is seen to its end. */
export function Start({ name }: { name: string }) {
  const schema = useCall('workflows.schema', { name });
  const { asked, ask, close } = useDialogs('many');
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Answer of={schema}>{({ input }) => <StartForm name={name} schema={input} onMany={() => ask('many')} />}</Answer>
      <Followed name={name} />
      {asked.many !== undefined && <StartMany name={name} onClose={close} />}
    </div>
  );
}

// --- internal ---

const ANYTHING: JsonSchema = {};
const NO_ISSUES: readonly Issue[] = [];

interface StartFormProps {
  name: string;
  schema: JsonSchema | null;
  onMany(): void;
}

function StartForm({ name, schema, onMany }: StartFormProps) {
  const whole = schema ?? ANYTHING;
  const [{ mode: asked }, change] = useSearchState();
  const mode = asked === 'json' || !hasFields(whole) ? 'json' : 'form';
  const [form, dispatch] = useSchemaForm(whole);
  const [issues, setIssues] = useState(NO_ISSUES);
  const [options, setOptions] = useState<Record<string, string>>({});
  const start = useChange('workflows.start', ['runs', 'workflows']);
  const send = async (): Promise<void> => {
    const found = schema ? check(schema, form.value) : NO_ISSUES;
    setIssues(found);
    if (found.length > 0 || form.drafts.size > 0) return focusProblem();
    start.reset();
    try {
      const receipt = await start.mutateAsync({ name, input: form.value, ...toStartInput(options) });
      change(
        receipt.status === 'queued'
          ? { trigger: receipt.triggerId, run: undefined }
          : { run: receipt.runId, trigger: undefined },
        'push',
      );
    } catch (error) {
      // What is no matter of a field is shown by the button.
      setIssues(readIssues((error as { details?: unknown }).details) ?? NO_ISSUES);
      focusProblem();
    }
  };
  return (
    <form
      noValidate
      aria-label={`Start ${name}`}
      className="flex min-w-0 flex-col gap-4 rounded-lg border border-line bg-panel p-4"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
      }}
    >
      <div className="flex flex-wrap items-center gap-2">
        {hasFields(whole) && (
          <ModeSwitch
            label="How the input is written"
            mode={mode}
            onChange={(next) => change({ mode: next === 'json' ? 'json' : undefined })}
          />
        )}
        <EarlierInputs
          name={name}
          onUse={(value) => {
            dispatch({ type: 'replace', value });
            setIssues(NO_ISSUES);
          }}
        />
      </div>
      <SchemaForm schema={whole} state={form} dispatch={dispatch} issues={issues} mode={mode} label="Input" />
      <StartOptions value={options} onChange={setOptions} />
      {start.error && issues.length === 0 ? <Failure error={start.error} /> : null}
      <div className="flex items-center gap-3">
        <Button type="submit" look="primary" busy={start.isPending}>
          Start
        </Button>
        <span className="flex-1 text-xs text-muted">Ctrl+Enter</span>
        <Button onClick={onMany}>Start many…</Button>
      </div>
    </form>
  );
}

/** Where the first thing is wrong, once it is drawn. */
function focusProblem(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>('form [aria-invalid="true"]')?.focus());
}
