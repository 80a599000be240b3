import { useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Field, Input, Select } from '../../ui/field.tsx';
import { formatConditions, IS, needsValue, parseConditions } from './conditions.ts';
import type { Condition, Is } from './conditions.ts';

export interface FiltersProps {
  columns: readonly { name: string; type: string }[];
  /** As the address holds them. */
  value: string | undefined;
  onChange(value: string | undefined): void;
}

/** Conditions that all hold: added one by one, and taken away. */
export function Filters({ columns, value, onChange }: FiltersProps) {
  const conditions = parseConditions(value);
  const change = (next: readonly Condition[]) => onChange(formatConditions(next));
  return (
    <div className="mb-3">
      <NewCondition
        columns={columns.map(({ name }) => name)}
        isFull={conditions.length >= MOST}
        onAdd={(condition) => change([...conditions, condition])}
      />
      {conditions.length > 0 && (
        <ul aria-label="Conditions" className="mt-2 flex flex-wrap gap-2">
          {conditions.map((condition, at) => (
            <li
              key={at}
              className="flex max-w-full items-center gap-1 rounded border border-line bg-panel py-0.5 pr-1 pl-2"
            >
              <bdi className="min-w-0 truncate">{toSentence(condition)}</bdi>
              <Button
                small
                look="quiet"
                aria-label={`Take away: ${toSentence(condition)}`}
                onClick={() => change(conditions.toSpliced(at, 1))}
              >
                ×
              </Button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

// --- internal ---

/** As many as a request may have. */
const MOST = 10;

function toSentence(condition: Condition): string {
  const { column, is, value } = condition;
  return `${column} ${IS[is]}${needsValue(is) ? ` “${(value ?? '').slice(0, 60)}”` : ''}`;
}

interface NewConditionProps {
  columns: readonly string[];
  isFull: boolean;
  onAdd(condition: Condition): void;
}

function NewCondition({ columns, isFull, onAdd }: NewConditionProps) {
  const [chosen, setColumn] = useState('');
  const [is, setIs] = useState<Is>('eq');
  const [value, setValue] = useState('');
  const column = columns.includes(chosen) ? chosen : (columns[0] ?? '');
  const add = () => {
    onAdd({ column, is, ...(needsValue(is) ? { value } : {}) });
    setValue('');
  };
  return (
    <form
      aria-label="Narrow the rows down"
      className="grid grid-cols-2 gap-2 sm:flex sm:flex-wrap"
      onSubmit={(event) => {
        event.preventDefault();
        if (column !== '' && !isFull) add();
      }}
    >
      <Field label="Column" quiet>
        {(parts) => (
          <Select
            {...parts}
            className="sm:w-48"
            value={column}
            onChange={({ target }) => setColumn(target.value)}
            options={columns.map((name) => [name, name] as const)}
          />
        )}
      </Field>
      <Field label="Compared how" quiet>
        {(parts) => (
          <Select
            {...parts}
            className="sm:w-40"
            value={is}
            onChange={({ target }) => setIs(target.value as Is)}
            options={Object.entries(IS)}
          />
        )}
      </Field>
      <Field label="Value" quiet>
        {(parts) => (
          <Input
            {...parts}
            className="sm:w-56"
            placeholder="Value"
            disabled={!needsValue(is)}
            value={needsValue(is) ? value : ''}
            onChange={({ target }) => setValue(target.value)}
          />
        )}
      </Field>
      <Button type="submit" disabled={column === '' || isFull}>
        Add the condition
      </Button>
    </form>
  );
}
