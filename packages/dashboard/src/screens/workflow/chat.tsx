import { useEffect, useMemo, useRef, useState } from 'react';
import { ClientError } from '@svc/runtime/client';
import { useCall } from '../../api/queries.ts';
import { useBox, useMay } from '../../app/box.ts';
import type { BoxContext } from '../../app/box.ts';
import { useSearchState } from '../../app/search.ts';
import { useStickToEnd } from '../../chat/stick-to-end.ts';
import { check } from '../../form/check.ts';
import type { Issue } from '../../form/check.ts';
import { readIssues } from '../../form/issues.ts';
import { ModeSwitch } from '../../form/mode-switch.tsx';
import { hasFields, SchemaForm, useSchemaForm } from '../../form/schema-form.tsx';
import type { FormMode } from '../../form/schema-form.tsx';
import type { JsonSchema } from '../../form/schema.ts';
import { Answer } from '../../ui/answer.tsx';
import { Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Link } from '../../ui/link.tsx';
import { Value } from '../../ui/value.tsx';
import { followChat, NO_RUN } from './follow-chat.ts';
import type { ChatRun, FollowedChat, OpenChat } from './follow-chat.ts';

/** A workflow of mode `chat`: what it is sent, and what its steps write as they write it. The address holds the run. */
export function WorkflowChat({ name }: { name: string }) {
  const schema = useCall('workflows.schema', { name });
  const [run, chat] = useFollowedChat(name);
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Answer of={schema}>
        {({ input }) => <Say schema={input ?? ANYTHING} isChecked={input !== null} run={run} onSay={chat.begin} />}
      </Answer>
      <Told name={name} run={run} />
    </div>
  );
}

// --- internal ---

const ANYTHING: JsonSchema = {};
const NO_ISSUES: readonly Issue[] = [];

function useFollowedChat(name: string): [ChatRun, FollowedChat] {
  const box = useBox();
  const [{ chat: asked }, change] = useSearchState();
  const [run, setRun] = useState(NO_RUN);
  const followed = useMemo(() => followChat(openWith(box, name), setRun), [box, name]);
  useEffect(() => () => followed.stop(), [followed]);
  useEffect(() => {
    if (asked !== undefined) followed.resume(asked);
  }, [followed, asked]);
  const { runId } = run;
  useEffect(() => {
    if (runId !== undefined && runId !== asked) change({ chat: runId }, 'push');
    // The run says it, and the address follows.
  }, [runId]);
  return [run, followed];
}

function openWith(box: BoxContext, name: string): OpenChat {
  return async (ask, signal) => {
    const isStart = 'key' in ask;
    const headers = {
      'content-type': 'application/json',
      ...(isStart ? { 'idempotency-key': ask.key } : { 'last-event-id': ask.lastEventId }),
    };
    const response = await box.fetch(`/api/workflows/${encodeURIComponent(name)}/chat`, {
      method: 'POST',
      headers,
      body: JSON.stringify(isStart ? (ask.input ?? {}) : {}),
      signal,
    });
    if (response.ok) return response;
    // A proxy in front of the box is not the box: it is asked again.
    if (response.status >= 502 && response.status <= 504) throw new TypeError(`It answered ${response.status}.`);
    throw new ClientError(response.status, (await response.json().catch(() => ({}))) as object);
  };
}

interface SayProps {
  schema: JsonSchema;
  /** The box checks what is sent by the schema. */
  isChecked: boolean;
  run: ChatRun;
  onSay(input: unknown): void;
}

function Say({ schema, isChecked, run, onSay }: SayProps) {
  const asForm = hasFields(schema);
  const [mode, setMode] = useState<FormMode>(asForm ? 'form' : 'json');
  const [form, dispatch] = useSchemaForm(schema);
  const [issues, setIssues] = useState(NO_ISSUES);
  const element = useRef<HTMLFormElement>(null);
  const mayStart = useMay()('workflows:start');
  const refused = readIssues((run.error as { details?: unknown } | undefined)?.details);
  useEffect(() => setIssues(refused ?? NO_ISSUES), [run.error]);
  useEffect(() => {
    if (issues.length > 0) element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [issues]);
  const send = (): void => {
    const found = isChecked ? check(schema, form.value) : NO_ISSUES;
    setIssues(found);
    if (found.length === 0 && form.drafts.size === 0) onSay(form.value);
  };
  const isRunning = run.runId !== undefined && run.end === undefined && run.error === undefined;
  return (
    <form
      ref={element}
      noValidate
      aria-label="Say something"
      className="flex min-w-0 flex-col gap-4 rounded-lg border border-line bg-panel p-4"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
      }}
    >
      {asForm && <ModeSwitch label="How it is written" mode={mode} onChange={setMode} />}
      <SchemaForm schema={schema} state={form} dispatch={dispatch} issues={issues} mode={mode} label="Input" />
      {run.error !== undefined && !refused && <Failure error={run.error} />}
      <div className="flex items-center gap-3">
        <Button type="submit" look="primary" disabled={!mayStart}>
          {isRunning ? 'Send in a run of its own' : 'Send'}
        </Button>
        <span className="text-xs text-muted">Ctrl+Enter</span>
      </div>
    </form>
  );
}

function Told({ name, run }: { name: string; run: ChatRun }) {
  const { runId, end, isLost, isCut } = run;
  if (runId === undefined)
    return <Empty title={`Say something to ${name}`}>What its steps write shows here as they write it.</Empty>;
  return (
    <section aria-label="What it says" className="min-w-0 rounded-lg border border-line bg-panel p-4">
      <h2 className="mb-1 font-medium">What it says</h2>
      <p className="mb-2 flex flex-wrap items-center gap-2">
        <span role="status" className="flex-1 text-muted">
          {end ? 'It has ended.' : isLost ? 'The connection is lost; it is made again…' : 'It goes on…'}
        </span>
        {end && <Status value={end.status} />}
        <Link to={`/runs/${runId}`}>Open this run</Link>
      </p>
      {isCut && <p className="mb-1 text-xs text-muted">The beginning was dropped. The run has all of it.</p>}
      <Frames run={run} />
      {end?.error && (
        <p role="alert" className="mt-3 wrap-anywhere text-bad">
          <bdi>{end.error.message}</bdi> <code className="text-xs">{end.error.code}</code>
        </p>
      )}
      {end && !end.error && (
        <div className="mt-3">
          <Value label="Output" value={end.output} />
        </div>
      )}
    </section>
  );
}

function Frames({ run: { parts, end } }: { run: ChatRun }) {
  const stick = useStickToEnd();
  return (
    <div
      ref={stick}
      tabIndex={0}
      role="log"
      aria-label="Frames"
      className="max-h-[60vh] overflow-y-auto rounded bg-page p-3"
    >
      <div className="space-y-2">
        {parts.length === 0 && <p className="text-muted">{end ? 'It has written nothing.' : 'Nothing yet.'}</p>}
        {parts.map(({ n, text, value }) => (
          <div key={n} data-frame={n} className="min-w-0">
            {text === undefined ? (
              <pre dir="ltr" className="font-mono text-xs wrap-anywhere whitespace-pre-wrap">
                {toLine(value)}
              </pre>
            ) : (
              <p dir="auto" className="wrap-anywhere whitespace-pre-wrap">
                {text}
              </p>
            )}
          </div>
        ))}
      </div>
    </div>
  );
}

/** The run has all of a long one. */
function toLine(value: unknown): string {
  const text = JSON.stringify(value) ?? '';
  return text.length > 5_000 ? `${text.slice(0, 5_000)}…` : text;
}
