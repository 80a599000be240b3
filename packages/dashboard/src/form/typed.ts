import { useEffect, useRef, useState } from 'react';
import { useForm, useSet } from './context.ts';
import type { FieldProps } from './context.ts';
import { keyOf } from './path.ts';
import type { Read } from './state.ts';

/** How a value is read from what is typed, and written. */
export interface Typing {
  read(text: string): Read;
  write(value: unknown): string;
}

/** What is typed stays as it is (`1.`, `1.0`, half of a list) until the value is changed elsewhere. */
export function useTyped(
  { path, value, empty }: Pick<FieldProps, 'path' | 'value' | 'empty'>,
  { read, write }: Typing,
) {
  const { dispatch, state } = useForm();
  const set = useSet({ path, empty });
  const draft = state.drafts.get(keyOf(path))?.text;
  const [text, setText] = useState(() => draft ?? write(value));
  const typed = useRef(value);
  useEffect(() => {
    if (typed.current === value || draft !== undefined) return;
    typed.current = value;
    setText(write(value));
  }, [value, draft, write]);
  return {
    value: text,
    onChange({ target }: { target: { value: string } }) {
      setText(target.value);
      const next = read(target.value);
      if ('message' in next) return dispatch({ type: 'draft', path, text: target.value, message: next.message });
      typed.current = next.value;
      set(next.value);
    },
  };
}
