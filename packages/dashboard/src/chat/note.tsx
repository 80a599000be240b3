import { useState } from 'react';
import { Button } from '../ui/button.tsx';
import { Field, Input } from '../ui/field.tsx';

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

export function NoteField({
  value,
  onChange,
  autoFocus,
}: {
  value: string;
  onChange(value: string): void;
  autoFocus?: boolean;
}) {
  return (
    <Field label="Note" hint="The agent or run that asks is given it. It may be empty.">
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

export function toNote(note: string): { note?: string } {
  return note.trim() === '' ? {} : { note: note.trim() };
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
