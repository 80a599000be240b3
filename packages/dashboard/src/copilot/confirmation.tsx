import { useEffect, useId, useState } from 'react';
import type { ReactNode } from 'react';
import type { AgentInterrupt } from '@svc/runtime/client';
import { useCall } from '../api/queries.ts';
import { Cut } from '../ui/cut.tsx';
import type { ChatMessage } from '../chat/message.ts';
import type { PauseDecision } from '../chat/pause-card.tsx';
import { Value } from '../chat/value.tsx';
import { check } from '../form/check.ts';
import type { Issue } from '../form/check.ts';
import { hasFields, SchemaForm, useSchemaForm } from '../form/schema-form.tsx';
import type { JsonSchema } from '../form/schema.ts';
import { Button } from '../ui/button.tsx';
import { Countdown } from './countdown.tsx';
import { findQuestion } from './outcome.ts';

export interface ConfirmationProps {
  interrupt: AgentInterrupt;
  messages: readonly ChatMessage[];
  /** Which one of several that wait together, as in `1 of 2`. */
  place: string | undefined;
  /** What was chosen, while others are not decided yet. */
  chosen: PauseDecision | undefined;
  busy: boolean;
  onDecide(decision: PauseDecision): void;
}

/** A call that runs once the person says yes: what it does, what it is given, and for how long a yes is good. */
export function Confirmation({ interrupt, messages, place, chosen, busy, onDecide }: ConfirmationProps) {
  const call = toCall(interrupt);
  const question = findQuestion(messages, call.requestState);
  const operation = useCall('operations.get', { id: call.operation });
  const heading = toHeadingId(interrupt.id);
  const about = useId();
  // Read out, and no button is pressed by what was being typed.
  useEffect(() => focusQuestion(interrupt.id), []);
  const sentence = question?.message ?? operation.data?.summary ?? interrupt.message;
  const parts = { call, place, busy, onDecide };
  return (
    <section aria-labelledby={heading} className="rounded-lg border border-warn bg-panel p-3">
      <h3 id={heading} tabIndex={-1} aria-describedby={about} className="-mx-1 rounded px-1 font-medium text-warn">
        Run this call?{place !== undefined && ` (${place})`}
      </h3>
      <div id={about} className="mt-1">
        <Cut text={sentence} first={600}>
          {(shown) => (
            <p dir="auto" className="wrap-anywhere">
              {shown}
            </p>
          )}
        </Cut>
      </div>
      <p className="mt-2">
        <code className="text-xs wrap-anywhere">
          {operation.data ? toAddress(operation.data.route, call.input) : call.operation}
        </code>
      </p>
      <div className="mt-2">{question?.expiresAt !== undefined && <Countdown until={question.expiresAt} />}</div>
      {chosen ? (
        <p className="mt-2">You chose: {chosen.decision}. It is sent once all are decided.</p>
      ) : operation.data || operation.error ? (
        <Decision {...parts} schema={(operation.data?.input as JsonSchema | undefined) ?? ANYTHING} />
      ) : (
        <div className="mt-2">
          <Value label="Arguments" text={JSON.stringify(call.input)} isWhole />
          <Buttons busy={busy} onReject={() => onDecide({ decision: 'reject' })}>
            <Button look="primary" busy={busy} onClick={() => onDecide({ decision: 'approve' })}>
              Approve
            </Button>
          </Buttons>
        </div>
      )}
    </section>
  );
}

/** Leads the person to what is asked. */
export function focusQuestion(interruptId: string): void {
  document.getElementById(toHeadingId(interruptId))?.focus();
}

// --- internal ---

function toHeadingId(interruptId: string): string {
  return `question-${interruptId}`;
}

interface Call {
  operation: string;
  input: Record<string, unknown>;
  requestState: string;
}

const ANYTHING: JsonSchema = {};
const NO_ISSUES: readonly Issue[] = [];

function toCall({ metadata }: AgentInterrupt): Call {
  const { arguments: args } = (metadata?.svc ?? {}) as { arguments?: Partial<Call> };
  return { operation: args?.operation ?? '', input: args?.input ?? {}, requestState: args?.requestState ?? '' };
}

/** `POST /api/runs/r-1/cancel` */
function toAddress(route: string, input: Record<string, unknown>): string {
  return route.replace(/:(\w+)/g, (whole, name: string) =>
    ['string', 'number'].includes(typeof input[name]) ? encodeURIComponent(String(input[name])) : whole,
  );
}

interface DecisionProps {
  call: Call;
  place: string | undefined;
  schema: JsonSchema;
  busy: boolean;
  onDecide(decision: PauseDecision): void;
}

/** The arguments as a form. Changed, they are another call, which is asked about again. */
function Decision({ call, place, schema, busy, onDecide }: DecisionProps) {
  const [form, dispatch] = useSchemaForm(schema, call.input);
  const [issues, setIssues] = useState(NO_ISSUES);
  const isChanged = form.drafts.size > 0 || JSON.stringify(form.value) !== JSON.stringify(call.input);
  const send = (): void => {
    if (!isChanged) return onDecide({ decision: 'approve' });
    const found = schema === ANYTHING ? NO_ISSUES : check(schema, form.value);
    setIssues(found);
    if (found.length > 0 || form.drafts.size > 0) return;
    const { operation, requestState } = call;
    onDecide({ decision: 'edit', input: { operation, input: form.value, requestState } });
  };
  return (
    <form
      noValidate
      aria-label={`Arguments of the call${place === undefined ? '' : ` (${place})`}`}
      className="mt-2"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <SchemaForm
        schema={schema}
        state={form}
        dispatch={dispatch}
        issues={issues}
        mode={hasFields(schema) ? 'form' : 'json'}
        label="Arguments"
      />
      <p role="status" className="mt-2 text-xs text-warn empty:hidden">
        {isChanged ? 'This is another call now: it is checked, and you are asked about it again.' : ''}
      </p>
      <Buttons busy={busy} onReject={() => onDecide({ decision: 'reject' })}>
        <Button type="submit" look="primary" busy={busy}>
          {isChanged ? 'Send the changed call' : 'Approve'}
        </Button>
        {isChanged && (
          <Button
            onClick={() => {
              dispatch({ type: 'replace', value: call.input });
              setIssues(NO_ISSUES);
            }}
          >
            Undo the change
          </Button>
        )}
      </Buttons>
    </form>
  );
}

function Buttons({ busy, onReject, children }: { busy: boolean; onReject(): void; children: ReactNode }) {
  return (
    <div className="mt-3 flex flex-wrap gap-2">
      {children}
      <Button look="danger" busy={busy} onClick={onReject}>
        Reject
      </Button>
    </div>
  );
}
