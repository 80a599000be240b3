import { createContext, use } from 'react';
import type { ComponentType, Dispatch } from 'react';
import type { Issue } from './check.ts';
import type { Path } from './path.ts';
import { keyOf } from './path.ts';
import type { JsonSchema, Node } from './schema.ts';
import type { FormAction, FormState } from './state.ts';

/** What every field of a form is given. */
export interface FormContext {
  root: JsonSchema;
  state: FormState;
  dispatch: Dispatch<FormAction>;
  /** By the field that shows them. */
  issues: ReadonlyMap<string, readonly Issue[]>;
  /** What the ids of the page begin with. */
  id: string;
  /** Draws the field of a schema: fields that have others in them need it, and it needs them. */
  Field: ComponentType<FieldProps>;
}

export const Form = createContext<FormContext | undefined>(undefined);

export function useForm(): FormContext {
  const form = use(Form);
  if (!form) throw new Error('There is no form here.');
  return form;
}

export interface FieldProps {
  schema: JsonSchema;
  path: Path;
  value: unknown;
  label: string;
  isRequired: boolean;
  /** What stands for no value where nothing is given: null for what may be null and has to be there. */
  empty?: null | undefined;
}

export type PropsOf<Kind extends Node['kind']> = FieldProps & { node: Extract<Node, { kind: Kind }> };

/** Sets the value of a field; undefined is none. */
export function useSet({ path, empty }: Pick<FieldProps, 'path' | 'empty'>): (value: unknown) => void {
  const { dispatch } = useForm();
  return (value) => dispatch({ type: 'set', path, value: value === undefined ? empty : value });
}

/** The id of the element of a field, which has no space in it. */
export function idAt(id: string, path: Path): string {
  return `${id}-${encodeURIComponent(keyOf(path))}`;
}
