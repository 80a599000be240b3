import { useId, useMemo, useReducer } from 'react';
import type { Dispatch, ReactNode } from 'react';
import type { Issue } from './check.ts';
import { Form } from './context.ts';
import { Field } from './fields.tsx';
import { placeIssues } from './issues.ts';
import { JsonEditor } from './json-field.tsx';
import { keyOf } from './path.ts';
import { describe, initialOf } from './schema.ts';
import type { JsonSchema } from './schema.ts';
import { changeForm, startForm } from './state.ts';
import type { FormAction, FormState } from './state.ts';

/** How the value is written: by its fields, or as JSON. */
export type FormMode = 'form' | 'json';

export function useSchemaForm(schema: JsonSchema, initial?: unknown): [FormState, Dispatch<FormAction>] {
  return useReducer(changeForm, undefined, () => startForm(initial ?? initialOf(schema, schema)));
}

/** Whether there are fields to draw; what has none is written as JSON. */
export function hasFields(schema: JsonSchema): boolean {
  return describe(schema, schema).kind !== 'json';
}

interface SchemaFormProps {
  schema: JsonSchema;
  state: FormState;
  dispatch: Dispatch<FormAction>;
  issues: readonly Issue[];
  mode: FormMode;
  /** What the whole value is called. */
  label: string;
  children?: ReactNode;
}

/** The fields of a value, made of its schema. */
export function SchemaForm({ schema, state, dispatch, issues, mode, label, children }: SchemaFormProps) {
  const id = useId();
  const placed = useMemo(
    () => (mode === 'json' ? new Map([[keyOf([]), [...issues]]]) : placeIssues(schema, state.value, issues)),
    [mode, schema, state.value, issues],
  );
  const form = useMemo(
    () => ({ root: schema, state, dispatch, issues: placed, id, Field }),
    [schema, state, dispatch, placed, id],
  );
  return (
    <Form value={form}>
      {mode === 'json' ? (
        <JsonEditor label={label} />
      ) : (
        <Field schema={schema} path={[]} value={state.value} label={label} isRequired />
      )}
      {children}
    </Form>
  );
}
