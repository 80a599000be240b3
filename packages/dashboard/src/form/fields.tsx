import { idAt, useForm } from './context.ts';
import type { FieldProps } from './context.ts';
import { ChoiceField, ConstantField, NumberField, TextField, YesNoField } from './inputs.tsx';
import { JsonField } from './json-field.tsx';
import { ListField, ObjectField, VariantsField } from './groups.tsx';
import { describe, initialOf } from './schema.ts';
import type { Node } from './schema.ts';

/** The field of a schema, whatever it is. */
export function Field(props: FieldProps) {
  const { root, id, dispatch } = useForm();
  const node = describe(props.schema, root);
  const label = node.title ?? props.label;
  const given = { ...props, label };
  if (props.value === undefined && !props.isRequired && isGroup(node))
    return (
      <button
        type="button"
        id={idAt(id, props.path)}
        className="rounded border border-dashed border-line px-3 py-1.5 text-left text-muted hover:bg-raised"
        onClick={() =>
          dispatch({ type: 'set', path: props.path, value: beginGroup(node, initialOf(props.schema, root)) })
        }
      >
        Add <bdi>{label}</bdi>
      </button>
    );
  switch (node.kind) {
    case 'text':
      return <TextField {...given} node={node} />;
    case 'number':
      return <NumberField {...given} node={node} />;
    case 'boolean':
      return <YesNoField {...given} node={node} />;
    case 'choice':
      return <ChoiceField {...given} node={node} />;
    case 'constant':
      return <ConstantField {...given} node={node} />;
    case 'nullable':
      return (
        <Field
          {...given}
          schema={node.of}
          value={props.value ?? undefined}
          isRequired={false}
          empty={props.isRequired ? null : props.empty}
        />
      );
    case 'object':
      return <ObjectField {...given} node={node} />;
    case 'list':
      return <ListField {...given} node={node} />;
    case 'variants':
      return <VariantsField {...given} node={node} />;
    case 'json':
      return <JsonField {...given} node={node} />;
  }
}

// --- internal ---

function isGroup({ kind }: Node): boolean {
  return kind === 'object' || kind === 'list';
}

function beginGroup({ kind }: Node, initial: unknown): unknown {
  return initial ?? (kind === 'list' ? [] : {});
}
