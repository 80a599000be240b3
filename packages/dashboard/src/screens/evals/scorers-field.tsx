import { Field, Select, Textarea } from '../../ui/field.tsx';
import { toJson } from './texts.ts';

/** A list of scorers as JSON, to which one of each kind can be added and filled in. */
export function ScorersField({
  hint,
  value,
  onChange,
}: {
  hint: string;
  value: string;
  onChange(value: string): void;
}) {
  const add = (type: string) => {
    const known = parseList(value);
    if (known) onChange(toJson([...known, { type, ...TEMPLATES[type as keyof typeof TEMPLATES] }]));
  };
  return (
    <>
      <Field label="Scorers" hint={hint}>
        {(parts) => <Textarea {...parts} rows={5} value={value} onChange={({ target }) => onChange(target.value)} />}
      </Field>
      <Field label="Add a scorer">
        {(parts) => (
          <Select
            {...parts}
            value=""
            disabled={!parseList(value)}
            options={[['', 'Choose …'], ...Object.keys(TEMPLATES).map((type) => [type, type] as const)]}
            onChange={({ target }) => add(target.value)}
          />
        )}
      </Field>
    </>
  );
}

// --- internal ---

/** What each asks for, to be filled in. */
const TEMPLATES = {
  exact: {},
  contains: { mode: 'all' },
  regex: { pattern: '' },
  'json-schema': { schema: {} },
  numeric: { tolerance: 0 },
  semantic: { threshold: 0.8 },
  trajectory: { calls: [{ tool: '' }], mode: 'in-order' },
  tokens: { maxTotal: 10_000 },
  cost: { max: 1, inputPerMillion: 1, outputPerMillion: 1 },
  latency: { maxMs: 10_000 },
  judge: { rubric: '', threshold: 0.7 },
  code: { scorer: '' },
};

function parseList(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
