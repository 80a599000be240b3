import { useId, useState } from 'react';
import type { AgentInterrupt } from '@svc/runtime/client';
import { Button } from '../ui/button.tsx';
import { Field, Input, Textarea } from '../ui/field.tsx';
import { Deadline } from './deadline.tsx';

export interface PauseDecision {
  decision: 'approve' | 'edit' | 'reject';
  note?: string;
  input?: unknown;
}

export interface PauseCardProps {
  interrupt: AgentInterrupt;
  /** What was chosen, while others are not decided yet. */
  chosen: PauseDecision | undefined;
  busy: boolean;
  /** False: the role of the person does not decide. */
  may: boolean;
  onDecide(decision: PauseDecision): void;
}

/** A call that waits for a person: approved, approved with other arguments, or rejected with a note. */
export function PauseCard({ interrupt, chosen, busy, may, onDecide }: PauseCardProps) {
  const { message, expiresAt, metadata } = interrupt;
  const { allow = ['approve', 'edit', 'reject'], arguments: args } = (metadata?.svc ?? {}) as Asked;
  const [way, setWay] = useState<'approve' | 'edit' | 'reject'>();
  const heading = useId();
  return (
    <section aria-labelledby={heading} className="rounded border border-warn bg-warn-soft px-3 py-2">
      <p id={heading} className="font-medium wrap-anywhere text-warn">
        {message}
      </p>
      {expiresAt !== undefined && <Deadline at={expiresAt} />}
      {!may && <p className="mt-1 text-text">An approver, an admin or an owner decides this.</p>}
      {may && chosen && (
        <p className="mt-1 text-text">You chose: {chosen.decision}. It is sent once all are decided.</p>
      )}
      {may && !chosen && !way && (
        <div className="mt-2 flex flex-wrap gap-2">
          {allow.includes('approve') && (
            <Button look="primary" busy={busy} onClick={() => onDecide({ decision: 'approve' })}>
              Approve
            </Button>
          )}
          {allow.includes('approve') && (
            <Button busy={busy} onClick={() => setWay('approve')}>
              Approve with a note
            </Button>
          )}
          {allow.includes('edit') && (
            <Button busy={busy} onClick={() => setWay('edit')}>
              Edit arguments
            </Button>
          )}
          {allow.includes('reject') && (
            <Button look="danger" busy={busy} onClick={() => setWay('reject')}>
              Reject
            </Button>
          )}
        </div>
      )}
      {may && !chosen && way === 'edit' && (
        <EditArguments
          args={args}
          busy={busy}
          onCancel={() => setWay(undefined)}
          onSend={(input, note) => onDecide({ decision: 'edit', input, ...note })}
        />
      )}
      {may && !chosen && way === 'approve' && (
        <ApproveWithNote
          busy={busy}
          onCancel={() => setWay(undefined)}
          onSend={(note) => onDecide({ decision: 'approve', ...note })}
        />
      )}
      {may && !chosen && way === 'reject' && (
        <Reject
          busy={busy}
          onCancel={() => setWay(undefined)}
          onSend={(note) => onDecide({ decision: 'reject', ...note })}
        />
      )}
    </section>
  );
}

/** Arguments as JSON, to be changed; what is no JSON is not sent. */
export function EditArguments({
  args,
  busy,
  onCancel,
  onSend,
}: {
  args: unknown;
  busy: boolean;
  onCancel(): void;
  onSend(input: unknown, note: { note?: string }): void;
}) {
  const [text, setText] = useState(() => JSON.stringify(args ?? {}, null, 2));
  const [note, setNote] = useState('');
  const parsed = parse(text);
  return (
    <form
      className="mt-2 space-y-2 text-text"
      onSubmit={(event) => {
        event.preventDefault();
        if (parsed.error === undefined) onSend(parsed.value, toNote(note));
      }}
    >
      <Field label="Arguments" error={parsed.error}>
        {(parts) => (
          <Textarea {...parts} autoFocus rows={6} value={text} onChange={(event) => setText(event.target.value)} />
        )}
      </Field>
      <NoteField value={note} onChange={setNote} />
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="primary" busy={busy} disabled={parsed.error !== undefined}>
          Approve with these
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}

export interface NoteProps {
  busy: boolean;
  onCancel(): void;
  onSend(note: { note?: string }): void;
}

export function Reject(props: NoteProps) {
  return <WithNote {...props} verb="Reject" look="danger" />;
}

export function ApproveWithNote(props: NoteProps) {
  return <WithNote {...props} verb="Approve" look="primary" />;
}

// --- internal ---

function WithNote({ verb, look, busy, onCancel, onSend }: NoteProps & { verb: string; look: 'primary' | 'danger' }) {
  const [note, setNote] = useState('');
  return (
    <form
      className="mt-2 space-y-2 text-text"
      onSubmit={(event) => {
        event.preventDefault();
        onSend(toNote(note));
      }}
    >
      <NoteField value={note} onChange={setNote} autoFocus />
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look={look} busy={busy}>
          {verb}
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}

interface Asked {
  allow?: readonly string[];
  arguments?: unknown;
}

function NoteField({
  value,
  onChange,
  autoFocus,
}: {
  value: string;
  onChange(value: string): void;
  autoFocus?: boolean;
}) {
  return (
    <Field label="Note" hint="Whoever asks is told it. It may be empty.">
      {(parts) => (
        <Input
          {...parts}
          autoFocus={autoFocus ?? false}
          maxLength={10_000}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

function toNote(note: string): { note?: string } {
  return note.trim() === '' ? {} : { note: note.trim() };
}

function parse(text: string): { value?: unknown; error?: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { error: `It is no JSON: ${(error as Error).message}` };
  }
}
