import { idAt, useForm, useSet } from './context.ts';
import type { FieldProps, PropsOf } from './context.ts';
import { Grouped, INPUT, Problems } from './frame.tsx';
import { isRecord } from './path.ts';
import { describe, findVariant, initialOf } from './schema.ts';
import type { JsonSchema } from './schema.ts';

export function ObjectField(props: PropsOf<'object'>) {
  const members = <Members schema={props.node.schema} path={props.path} value={props.value} />;
  return props.path.length === 0 ? (
    <div className="flex flex-col gap-4">
      {members}
      <Problems path={[]} />
    </div>
  ) : (
    <Grouped {...props}>{members}</Grouped>
  );
}

export function ListField(props: PropsOf<'list'>) {
  const { root, dispatch, Field } = useForm();
  const { node, path, value, label } = props;
  const items = Array.isArray(value) ? (value as unknown[]) : [];
  return (
    <Grouped {...props}>
      {items.slice(0, MOST_DRAWN).map((item, at) => (
        <div key={at} className="flex items-start gap-2">
          <div className="min-w-0 flex-1">
            <Field schema={node.items} path={[...path, at]} value={item} label={`${label} ${at + 1}`} isRequired />
          </div>
          <EntryButton
            label={`Move ${label} ${at + 1} up`}
            isOff={at === 0}
            onPress={() => dispatch({ type: 'move', path, at, by: -1 })}
          >
            ↑
          </EntryButton>
          <EntryButton label={`Remove ${label} ${at + 1}`} onPress={() => dispatch({ type: 'remove', path, at })}>
            ×
          </EntryButton>
        </div>
      ))}
      {items.length > MOST_DRAWN && (
        <p className="text-muted">
          The first {MOST_DRAWN} of {items.length} entries are shown. Edit the others as JSON.
        </p>
      )}
      <button
        type="button"
        disabled={items.length >= node.most}
        className="self-start rounded border border-line px-2.5 py-1 hover:bg-raised disabled:opacity-50"
        onClick={() => dispatch({ type: 'add', path, value: initialOf(node.items, root) })}
      >
        Add an entry <span className="sr-only">to {label}</span>
      </button>
    </Grouped>
  );
}

export function VariantsField(props: PropsOf<'variants'>) {
  const { root, id, Field } = useForm();
  const set = useSet(props);
  const { node, path, value, label, isRequired } = props;
  const at = findVariant(node, value, root);
  const option = node.options[at];
  return (
    <Grouped {...props}>
      <select
        id={`${idAt(id, path)}-variant`}
        aria-label={`${label}: ${node.by ?? 'which kind'}`}
        className={`${INPUT} max-w-96`}
        value={at === -1 ? '' : String(at)}
        onChange={({ target }) => {
          const next = target.value === '' ? undefined : node.options[Number(target.value)];
          set(next && beginOf(next.schema, root));
        }}
      >
        {(at === -1 || !isRequired) && <option value="">{isRequired ? 'Choose …' : 'Not set'}</option>}
        {node.options.map((each, position) => (
          <option key={position} value={position}>
            {each.label}
          </option>
        ))}
      </select>
      {option &&
        (node.by === undefined ? (
          <Field schema={option.schema} path={path} value={value} label={label} isRequired />
        ) : (
          <Members schema={option.schema} path={path} value={value} without={node.by} />
        ))}
    </Grouped>
  );
}

// --- internal ---

/** As many as a person can look through; the rest is edited as JSON. */
const MOST_DRAWN = 50;

function Members({
  schema,
  path,
  value,
  without,
}: Pick<FieldProps, 'schema' | 'path' | 'value'> & { without?: string }) {
  const { root, Field } = useForm();
  const node = describe(schema, root);
  const members = node.kind === 'object' ? node.members : [];
  const given = isRecord(value) ? value : {};
  const others = Object.keys(given).filter((name) => !members.some((member) => member.name === name));
  return (
    <>
      {members
        .filter(({ name }) => name !== without)
        .map(({ name, schema: inner, isRequired }) => (
          <Field
            key={name}
            schema={inner}
            path={[...path, name]}
            value={Object.hasOwn(given, name) ? given[name] : undefined}
            label={name}
            isRequired={isRequired}
          />
        ))}
      {others.length > 0 && (
        <p className="text-muted">
          Also given, and edited as JSON: <bdi>{others.slice(0, 5).join(', ')}</bdi>
          {others.length > 5 && ` and ${others.length - 5} more`}
        </p>
      )}
    </>
  );
}

function EntryButton(props: { label: string; isOff?: boolean; onPress(): void; children: string }) {
  return (
    <button
      type="button"
      aria-label={props.label}
      disabled={props.isOff}
      className="size-8 shrink-0 rounded border border-line hover:bg-raised disabled:opacity-40"
      onClick={props.onPress}
    >
      {props.children}
    </button>
  );
}

/** What a variant begins as, so that it is seen which one it is. */
function beginOf(schema: JsonSchema, root: JsonSchema): unknown {
  const initial = initialOf(schema, root);
  if (initial !== undefined) return initial;
  return { string: '', number: 0, integer: 0 }[String(schema['type'])];
}
