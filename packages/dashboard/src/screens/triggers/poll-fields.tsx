import { useCall } from '../../api/queries.ts';
import { Field, Input, Select, Textarea } from '../../ui/field.tsx';
import type { Draft } from './draft.ts';
import type { DraftProps } from './trigger-form.tsx';
import { Refused } from '../../ui/refused.tsx';

/** What a poll asks for, and how often. */
export function PollFields({ draft, onChange }: DraftProps) {
  const { url, often, every, cron, timeZone, from } = draft;
  return (
    <>
      <Field label="Address" hint="Asked for with GET. It is shown: what is secret goes into a connection">
        {(parts) => (
          <Input
            {...parts}
            type="text"
            inputMode="url"
            value={url}
            onChange={({ target }) => onChange({ url: target.value })}
          />
        )}
      </Field>
      <ConnectionField draft={draft} onChange={onChange} />
      <div className="grid gap-3 sm:grid-cols-2">
        <Field label="How often">
          {(parts) => (
            <Select
              {...parts}
              value={often}
              onChange={({ target }) => onChange({ often: target.value as Draft['often'] })}
              options={[
                ['every', 'At intervals'],
                ['cron', 'By cron'],
              ]}
            />
          )}
        </Field>
        {often === 'every' ? (
          <Field label="Minutes" hint="From one poll to the next; at least half a minute">
            {(parts) => (
              <Input
                {...parts}
                type="number"
                min={0.5}
                step="any"
                value={every}
                onChange={({ target }) => onChange({ every: target.value })}
              />
            )}
          </Field>
        ) : (
          <>
            <Field label="Cron" hint="Minute, hour, day, month, day of the week">
              {(parts) => <Input {...parts} value={cron} onChange={({ target }) => onChange({ cron: target.value })} />}
            </Field>
            <Field label="Time zone" hint="Such as “Europe/Berlin”. Default: UTC">
              {(parts) => (
                <Input {...parts} value={timeZone} onChange={({ target }) => onChange({ timeZone: target.value })} />
              )}
            </Field>
          </>
        )}
      </div>
      <Field label="What is there at first">
        {(parts) => (
          <Select
            {...parts}
            value={from}
            onChange={({ target }) => onChange({ from: target.value as Draft['from'] })}
            options={[
              ['now', 'Is only noted: what comes later starts something'],
              ['all', 'Starts something too'],
            ]}
          />
        )}
      </Field>
      <AnswerFields draft={draft} onChange={onChange} />
    </>
  );
}

// --- internal ---

/** Who may not see connections names one. */
function ConnectionField({ draft: { connection }, onChange }: DraftProps) {
  const connections = useCall('connections.list', { limit: 200 });
  const known = (connections.data?.items ?? []).filter(({ per }) => per === 'box').map(({ id }) => id);
  const all = connection === '' || known.includes(connection) ? known : [...known, connection];
  return (
    <>
      <Field label="Asked as" hint="With the credential of a connection; then the address may be a path at its service">
        {(parts) => (
          <Select
            {...parts}
            value={connection}
            onChange={({ target }) => onChange({ connection: target.value })}
            options={[['', 'Nobody'], ...all.map((each) => [each, each] as const)]}
          />
        )}
      </Field>
      <Refused of={connections} what="The connections" />
    </>
  );
}

function AnswerFields({ draft: { items, headers, deduplicate }, onChange }: DraftProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field label="Where the list is" hint="In the JSON of the answer: “body.data”. Nothing: it is the answer">
        {(parts) => <Input {...parts} value={items} onChange={({ target }) => onChange({ items: target.value })} />}
      </Field>
      <Field label="Where the id of an item is" hint="Such as “body.key”. Nothing: “body.id”, else all of it">
        {(parts) => (
          <Input {...parts} value={deduplicate} onChange={({ target }) => onChange({ deduplicate: target.value })} />
        )}
      </Field>
      <div className="sm:col-span-2">
        <Field label="Headers" hint={'As JSON: {"accept": "application/vnd.github+json"}'}>
          {(parts) => (
            <Textarea
              {...parts}
              rows={2}
              value={headers}
              onChange={({ target }) => onChange({ headers: target.value })}
            />
          )}
        </Field>
      </div>
    </div>
  );
}
