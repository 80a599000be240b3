import { useSet } from './context.ts';
import type { PropsOf } from './context.ts';
import { Framed, INPUT, useInput } from './frame.tsx';
import { labelOf } from './schema.ts';
import { readNumber } from './state.ts';
import { useTyped } from './typed.ts';

export function TextField(props: PropsOf<'text'>) {
  const set = useSet(props);
  const { value, node } = props;
  const input = useInput(props, node);
  const given = {
    ...input,
    value: typeof value === 'string' ? value : value === undefined ? '' : labelOf(value),
    placeholder: EXAMPLES[node.format ?? ''],
    // An empty text is none: whoever means one writes it as JSON.
    onChange: ({ target }: { target: { value: string } }) => set(target.value === '' ? undefined : target.value),
  };
  return (
    <Framed {...props}>
      {node.isLong && !node.isSecret ? (
        <textarea {...given} rows={1} className={`${INPUT} field-sizing-content max-h-96 min-h-9`} />
      ) : (
        <input
          {...given}
          type={node.isSecret ? 'password' : (TYPES[node.format ?? ''] ?? 'text')}
          autoComplete="off"
          spellCheck={false}
          className={INPUT}
        />
      )}
    </Framed>
  );
}

export function NumberField(props: PropsOf<'number'>) {
  return (
    <Framed {...props}>
      <input
        {...useInput(props, props.node)}
        {...useTyped(props, NUMBER_TEXT)}
        inputMode={props.node.isWhole ? 'numeric' : 'decimal'}
        autoComplete="off"
        className={`${INPUT} max-w-60`}
      />
    </Framed>
  );
}

export function YesNoField(props: PropsOf<'boolean'>) {
  const set = useSet(props);
  const { value, node, isRequired, label } = props;
  const input = useInput(props, node);
  if (!isRequired)
    return (
      <Framed {...props}>
        <select
          {...input}
          className={`${INPUT} max-w-60`}
          value={typeof value === 'boolean' ? String(value) : ''}
          onChange={({ target }) => set(target.value === '' ? undefined : target.value === 'true')}
        >
          <option value="">Not set</option>
          <option value="true">Yes</option>
          <option value="false">No</option>
        </select>
      </Framed>
    );
  return (
    <div>
      <label className="flex items-center gap-2 font-medium">
        <input
          {...input}
          type="checkbox"
          className="size-4"
          checked={value === true}
          onChange={({ target }) => set(target.checked)}
        />
        <bdi>{label}</bdi>
      </label>
      {node.description && (
        <p id={`${input.id}-about`} className="text-muted">
          <bdi>{node.description}</bdi>
        </p>
      )}
    </div>
  );
}

export function ChoiceField(props: PropsOf<'choice'>) {
  const set = useSet(props);
  const { value, node, isRequired } = props;
  const chosen = node.options.findIndex((option) => option === value);
  return (
    <Framed {...props}>
      <select
        {...useInput(props, node)}
        className={`${INPUT} max-w-96`}
        value={chosen === -1 ? '' : String(chosen)}
        onChange={({ target }) => set(target.value === '' ? undefined : node.options[Number(target.value)])}
      >
        <option value="">{isRequired ? 'Choose …' : 'Not set'}</option>
        {node.options.map((option, at) => (
          <option key={at} value={at}>
            {labelOf(option)}
          </option>
        ))}
      </select>
    </Framed>
  );
}

/** What has one value only is that value, or is left out. */
export function ConstantField(props: PropsOf<'constant'>) {
  const set = useSet(props);
  const { value, node, isRequired, label } = props;
  const input = useInput(props, node);
  if (isRequired && value !== undefined)
    return (
      <p className="text-muted">
        <bdi>{label}</bdi>: <code>{labelOf(node.value)}</code>
      </p>
    );
  return (
    <label className="flex items-center gap-2 font-medium">
      <input
        {...input}
        type="checkbox"
        className="size-4"
        checked={value !== undefined}
        onChange={({ target }) => set(target.checked ? node.value : undefined)}
      />
      <bdi>{label}</bdi>: <code>{labelOf(node.value)}</code>
    </label>
  );
}

// --- internal ---

const NUMBER_TEXT = { read: readNumber, write: (value: unknown) => (value === undefined ? '' : labelOf(value)) };

const TYPES: Record<string, string | undefined> = { email: 'email', uri: 'url', date: 'date' };

const EXAMPLES: Record<string, string | undefined> = {
  'date-time': '2030-01-31T09:00:00Z',
  time: '09:00:00',
  email: 'ada@example.com',
  uri: 'https://example.com',
  uuid: '00000000-0000-4000-8000-000000000000',
};
