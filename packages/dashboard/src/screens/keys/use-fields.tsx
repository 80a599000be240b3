import { readIssues } from '../../form/issues.ts';
import { Field, Input, Textarea } from '../../ui/field.tsx';
import { LIMITS } from './draft.ts';
import type { TypedLimits, TypedUse } from './draft.ts';

export interface UseFieldsProps {
  value: TypedUse;
  onChange(value: TypedUse): void;
  /** Why the box has refused it, which says of which field. */
  error: unknown;
  /** The key speaks for users, each of whom has limits too. */
  hasUsers: boolean;
}

/** How much a key may use, and from where. */
export function UseFields({ value, onChange, error, hasUsers }: UseFieldsProps) {
  const issues = readIssues((error as { details?: unknown } | null)?.details) ?? [];
  const issueOf = (...path: string[]): string | undefined =>
    issues.find((issue) => path.every((part, at) => issue.path[at] === part))?.message;
  return (
    <>
      <Numbers
        title="Limits"
        value={value.own}
        issueOf={(name) => issueOf('limits', name)}
        onChange={(own) => onChange({ ...value, own })}
      />
      {hasUsers && (
        <Numbers
          title="Limits of each of its users"
          value={value.users}
          issueOf={(name) => issueOf('limits', 'users', name)}
          onChange={(users) => onChange({ ...value, users })}
        />
      )}
      <Field
        label="May be used from"
        hint="Addresses and networks, one a line, as 203.0.113.7 or 2001:db8::/32. Empty: anywhere"
        error={issueOf('addresses')}
      >
        {(parts) => (
          <Textarea
            {...parts}
            rows={2}
            value={value.addresses}
            onChange={({ target }) => onChange({ ...value, addresses: target.value })}
          />
        )}
      </Field>
    </>
  );
}

// --- internal ---

interface NumbersProps {
  title: string;
  value: TypedLimits;
  issueOf(name: string): string | undefined;
  onChange(value: TypedLimits): void;
}

function Numbers({ title, value, issueOf, onChange }: NumbersProps) {
  return (
    <fieldset className="rounded border border-line p-3">
      <legend className="px-1 font-medium">{title}</legend>
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        {LIMITS.map(([name, label]) => (
          <Field key={name} label={label} error={issueOf(name)}>
            {(parts) => (
              <Input
                {...parts}
                inputMode="numeric"
                placeholder="no limit"
                value={value[name]}
                onChange={({ target }) => onChange({ ...value, [name]: target.value })}
              />
            )}
          </Field>
        ))}
      </div>
    </fieldset>
  );
}
