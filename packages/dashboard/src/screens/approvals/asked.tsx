import { useMemo } from 'react';
import { isRecord } from '../../form/path.ts';
import { describe } from '../../form/schema.ts';
import type { JsonSchema } from '../../form/schema.ts';
import { Value } from '../../ui/value.tsx';

export interface AskedProps {
  label: string;
  value: unknown;
  /** What takes it. */
  schema: JsonSchema | null | undefined;
}

/** What is asked about: a member a row, under the titles of its schema, or all of it as JSON. */
export function Asked({ label, value, schema }: AskedProps) {
  const members = useMemo(() => toMembers(value, schema), [value, schema]);
  if (!members) return <Value label={label} value={value} />;
  return (
    <>
      <dl aria-label={label} className="space-y-2 rounded border border-line p-3">
        {members.map(({ name, title, description, text, inner }) => (
          <div key={name} className="min-w-0">
            <dt className="font-medium">
              <bdi>{title}</bdi>
              {title !== name && <code className="ml-2 text-xs text-muted">{name}</code>}
            </dt>
            <dd className="min-w-0">
              {description !== undefined && (
                <p dir="auto" className="text-xs text-muted wrap-anywhere">
                  {description}
                </p>
              )}
              {text === undefined ? (
                <Value label={title} value={inner} />
              ) : (
                <span dir="auto" className="font-mono text-xs wrap-anywhere whitespace-pre-wrap">
                  {text}
                </span>
              )}
            </dd>
          </div>
        ))}
      </dl>
      <details className="mt-2">
        <summary className="cursor-pointer text-xs text-muted">As JSON</summary>
        <Value label={label} value={value} />
      </details>
    </>
  );
}

// --- internal ---

interface Row {
  name: string;
  title: string;
  description: string | undefined;
  /** Of what is short. Undefined: `inner` is shown by itself. */
  text: string | undefined;
  inner: unknown;
}

const MOST_ROWS = 50;
const MOST_TEXT = 500;

/** In the order of the schema, and then what it does not know. Undefined: it has no members to speak of. */
function toMembers(value: unknown, schema: JsonSchema | null | undefined): Row[] | undefined {
  if (!schema || !isRecord(value)) return undefined;
  const node = describe(schema, schema);
  if (node.kind !== 'object') return undefined;
  const known = node.members.filter(({ name }) => Object.hasOwn(value, name));
  const others = Object.keys(value).filter((name) => !known.some((member) => member.name === name));
  if (known.length === 0 || known.length + others.length > MOST_ROWS) return undefined;
  return [
    ...known.map((member) => {
      const { title, description } = describe(member.schema, schema);
      return { name: member.name, title: title ?? member.name, description, ...toShown(value[member.name]) };
    }),
    ...others.map((name) => ({ name, title: name, description: undefined, ...toShown(value[name]) })),
  ];
}

function toShown(inner: unknown): Pick<Row, 'text' | 'inner'> {
  const text = typeof inner === 'string' ? inner : isRecord(inner) || Array.isArray(inner) ? undefined : String(inner);
  return { text: text === undefined || text.length > MOST_TEXT ? undefined : text, inner };
}
