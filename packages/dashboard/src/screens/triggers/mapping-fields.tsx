import { Field, Input, Textarea } from '../../ui/field.tsx';
import type { DraftProps } from './trigger-form.tsx';

/** Which calls, or items, it is for. */
export function FilterFields({ draft: { events, event, where, deduplicate, comes }, onChange }: DraftProps) {
  return (
    <>
      <Field label="Events" hint="One a line; “issues” is every event below it, such as “issues.opened”. Nothing: all">
        {(parts) => (
          <Textarea {...parts} rows={2} value={events} onChange={({ target }) => onChange({ events: target.value })} />
        )}
      </Field>
      <details className="rounded border border-line p-3">
        <summary className="font-medium">What else it looks at</summary>
        <div className="mt-3 flex flex-col gap-3">
          <Field
            label="Filter"
            hint={`What ${comes === 'poll' ? 'an item' : 'a call'} has to hold, as JSON: {"body.ref": ["refs/heads/main"]}`}
          >
            {(parts) => (
              <Textarea
                {...parts}
                rows={3}
                value={where}
                onChange={({ target }) => onChange({ where: target.value })}
              />
            )}
          </Field>
          <Field
            label="Where the event is"
            hint={
              comes === 'poll' ? 'Such as “body.type”' : 'Such as “headers.x-event”. Default: as the sender defines it'
            }
          >
            {(parts) => <Input {...parts} value={event} onChange={({ target }) => onChange({ event: target.value })} />}
          </Field>
          {comes === 'webhook' && (
            <Field
              label="Where its id is"
              hint="Of the delivery, so that none starts twice. Default: as the sender defines it"
            >
              {(parts) => (
                <Input
                  {...parts}
                  value={deduplicate}
                  onChange={({ target }) => onChange({ deduplicate: target.value })}
                />
              )}
            </Field>
          )}
        </div>
      </details>
    </>
  );
}

/** What the target is given, made of what came. */
export function MappingFields({ draft: { kind, input, message, session }, onChange }: DraftProps) {
  if (kind === 'workflow')
    return (
      <Field
        label="Input"
        hint={
          'JSON, in which "{{body.issue.title}}" is replaced by the value at that place. Empty: { headers, query, body }'
        }
      >
        {(parts) => (
          <Textarea {...parts} rows={4} value={input} onChange={({ target }) => onChange({ input: target.value })} />
        )}
      </Field>
    );
  return (
    <>
      <Field
        label="Message"
        hint="The message to the agent: “{{body.text}}” is replaced by the value at that place. Empty: the body"
      >
        {(parts) => (
          <Textarea
            {...parts}
            rows={3}
            value={message}
            onChange={({ target }) => onChange({ message: target.value })}
          />
        )}
      </Field>
      <Field label="Conversation" hint="Which one it goes on with: “{{body.thread}}”. Empty: each delivery begins one">
        {(parts) => <Input {...parts} value={session} onChange={({ target }) => onChange({ session: target.value })} />}
      </Field>
    </>
  );
}
