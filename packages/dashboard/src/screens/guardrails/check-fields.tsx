import { Checkbox } from '../../ui/checkbox.tsx';
import { Field, Input, Select, Textarea } from '../../ui/field.tsx';
import { Choices } from './choices.tsx';
import { KINDS } from './draft.ts';
import type { CheckDraft } from './draft.ts';
import { PERSONAL_DATA } from './rule.ts';

interface CheckFieldsProps {
  check: CheckDraft;
  onChange(change: Partial<CheckDraft>): void;
}

/** What is a hit: its kind, and what that asks for. */
export function CheckFields({ check, onChange }: CheckFieldsProps) {
  return (
    <>
      <Field label="Looks for">
        {(parts) => (
          <Select
            {...parts}
            options={KINDS}
            value={check.kind}
            onChange={({ target }) => onChange({ kind: target.value as CheckDraft['kind'] })}
          />
        )}
      </Field>
      <OfKind check={check} onChange={onChange} />
    </>
  );
}

// --- internal ---

function OfKind({ check, onChange }: CheckFieldsProps) {
  const { kind } = check;
  if (kind === 'pii')
    return (
      <Choices
        title="Kinds of data"
        options={PERSONAL_DATA}
        value={check.personalData}
        onChange={(personalData) => onChange({ personalData })}
      />
    );
  if (kind === 'words') return <Words check={check} onChange={onChange} />;
  if (kind === 'regex') return <Pattern check={check} onChange={onChange} />;
  if (kind === 'length') return <Length check={check} onChange={onChange} />;
  if (kind === 'injection')
    return (
      <p className="text-xs text-muted">
        Text from outside that gives the model orders (prompt injection), as in results of tools.
      </p>
    );
  if (kind === 'model') return <Model check={check} onChange={onChange} />;
  const fields = { check, onChange, rows: 6 };
  if (kind === 'schema') return <Lines {...fields} member="schema" label="JSON Schema" />;
  return <Lines {...fields} member="json" label="Check" />;
}

interface LinesProps extends CheckFieldsProps {
  member: 'words' | 'rubric' | 'labels' | 'schema' | 'json';
  label: string;
  hint?: string;
  rows: number;
}

/** A member that is written on several lines. */
function Lines({ check, onChange, member, label, hint, rows }: LinesProps) {
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {(parts) => (
        <Textarea
          {...parts}
          rows={rows}
          value={check[member]}
          onChange={({ target }) => onChange({ [member]: target.value })}
        />
      )}
    </Field>
  );
}

function Words({ check, onChange }: CheckFieldsProps) {
  return (
    <>
      <Lines check={check} onChange={onChange} member="words" label="Words" hint="One a line" rows={5} />
      <Checkbox value={check.ignoreCase} onChange={(ignoreCase) => onChange({ ignoreCase })}>
        Ignore case
      </Checkbox>
      <Checkbox value={check.wholeWord} onChange={(wholeWord) => onChange({ wholeWord })}>
        Whole words only
      </Checkbox>
    </>
  );
}

function Model({ check, onChange }: CheckFieldsProps) {
  const fields = { check, onChange };
  return (
    <>
      <Lines
        {...fields}
        member="rubric"
        label="Rule"
        hint="What a text must not be, in words for a model. Each text costs a call of it"
        rows={4}
      />
      <Lines
        {...fields}
        member="labels"
        label="Labels"
        hint="What a hit can be, one a line. The one that the model chooses is the reason of the hit"
        rows={3}
      />
      <Field label="Model" hint="Empty: the default model of the box">
        {(parts) => (
          <Input {...parts} value={check.model} onChange={({ target }) => onChange({ model: target.value.trim() })} />
        )}
      </Field>
    </>
  );
}

function Pattern({ check, onChange }: CheckFieldsProps) {
  return (
    <>
      <Field label="Pattern" hint="In the syntax of RE2, which has no backreference and no lookahead">
        {(parts) => (
          <Input
            {...parts}
            className="font-mono"
            value={check.pattern}
            onChange={({ target }) => onChange({ pattern: target.value })}
          />
        )}
      </Field>
      <Checkbox value={check.ignoreCase} onChange={(ignoreCase) => onChange({ ignoreCase })}>
        Ignore case
      </Checkbox>
    </>
  );
}

function Length({ check, onChange }: CheckFieldsProps) {
  return (
    <div className="flex gap-3">
      {(['min', 'max'] as const).map((member) => (
        <Field key={member} label={member === 'min' ? 'At least' : 'At most'} hint="Characters">
          {(parts) => (
            <Input
              {...parts}
              type="number"
              min={1}
              value={check[member]}
              onChange={({ target }) => onChange({ [member]: target.value })}
            />
          )}
        </Field>
      ))}
    </div>
  );
}
