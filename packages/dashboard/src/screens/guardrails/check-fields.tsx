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
    return <p className="text-xs text-muted">Text of others that gives the model orders, as in results of tools.</p>;
  const member = kind === 'schema' ? 'schema' : 'json';
  return (
    <Field label={kind === 'schema' ? 'JSON Schema' : 'Check'}>
      {(parts) => (
        <Textarea
          {...parts}
          rows={6}
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
      <Field label="Words" hint="One a line">
        {(parts) => (
          <Textarea
            {...parts}
            rows={5}
            value={check.words}
            onChange={({ target }) => onChange({ words: target.value })}
          />
        )}
      </Field>
      <Switch
        label="Capital letters or not"
        value={check.ignoreCase}
        onChange={(ignoreCase) => onChange({ ignoreCase })}
      />
      <Switch
        label="Not as a part of a longer word"
        value={check.wholeWord}
        onChange={(wholeWord) => onChange({ wholeWord })}
      />
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
      <Switch
        label="Capital letters or not"
        value={check.ignoreCase}
        onChange={(ignoreCase) => onChange({ ignoreCase })}
      />
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

function Switch({ label, value, onChange }: { label: string; value: boolean; onChange(value: boolean): void }) {
  return (
    <label className="flex items-center gap-2">
      <input type="checkbox" checked={value} onChange={({ target }) => onChange(target.checked)} />
      {label}
    </label>
  );
}
