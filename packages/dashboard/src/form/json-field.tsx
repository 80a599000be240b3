import { useForm } from './context.ts';
import type { PropsOf } from './context.ts';
import { Framed, INPUT, Problems, useInput } from './frame.tsx';
import type { Path } from './path.ts';
import { describe } from './schema.ts';
import { readJson, writeJson } from './state.ts';
import { useTyped } from './typed.ts';

/** A field for what no other field can show. */
export function JsonField(props: PropsOf<'json'>) {
  const text = useTyped(props, JSON_TEXT);
  return (
    <Framed {...props}>
      <textarea
        {...useInput(props, props.node)}
        {...text}
        rows={3}
        spellCheck={false}
        placeholder="JSON"
        className={`${INPUT} field-sizing-content max-h-96 font-mono`}
      />
    </Framed>
  );
}

/** The whole value as JSON. */
export function JsonEditor({ label }: { label: string }) {
  const { root, state } = useForm();
  const path: Path = [];
  const text = useTyped({ path, value: state.value }, JSON_TEXT);
  const input = useInput({ path, isRequired: true }, describe(root, root));
  return (
    <div>
      <textarea
        {...input}
        {...text}
        aria-label={label}
        rows={12}
        spellCheck={false}
        className={`${INPUT} field-sizing-content max-h-[60dvh] min-h-48 font-mono`}
      />
      <Problems path={path} />
    </div>
  );
}

// --- internal ---

const JSON_TEXT = { read: readJson, write: (value: unknown) => writeJson(value) ?? '' };
