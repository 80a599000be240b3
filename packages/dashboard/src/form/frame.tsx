import type { ReactNode } from 'react';
import { idAt, useForm, useSet } from './context.ts';
import type { FieldProps } from './context.ts';
import { formatIssue } from './issues.ts';
import { keyOf, startsWith } from './path.ts';
import type { Path } from './path.ts';
import type { Node } from './schema.ts';

export const INPUT =
  'w-full rounded border border-line bg-panel px-2.5 py-1.5 text-text aria-invalid:border-bad placeholder:text-muted';

/** The attributes that tie an input to its label, its words and what is wrong with it. */
export function useInput({ path, isRequired }: Pick<FieldProps, 'path' | 'isRequired'>, node: Node) {
  const { id } = useForm();
  const own = idAt(id, path);
  const problems = useProblems(path);
  const described = [node.description && `${own}-about`, problems.length > 0 && `${own}-problems`].filter(Boolean);
  return {
    id: own,
    'aria-invalid': problems.length > 0 || undefined,
    'aria-describedby': described.length > 0 ? described.join(' ') : undefined,
    'aria-required': isRequired || undefined,
  };
}

/** A field of one input: its label above, what is wrong with it below. */
export function Framed({ path, label, isRequired, node, children }: FieldProps & { node: Node; children: ReactNode }) {
  const { id } = useForm();
  const own = idAt(id, path);
  return (
    <div>
      <label htmlFor={own} className="mb-1 flex flex-wrap items-baseline gap-x-2 font-medium">
        <bdi>{label}</bdi>
        {!isRequired && <span className="text-xs font-normal text-muted">optional</span>}
      </label>
      <About node={node} id={own} />
      {children}
      <Problems path={path} />
    </div>
  );
}

/** A field of several: what it is about stands around them. */
export function Grouped({
  path,
  label,
  isRequired,
  value,
  empty,
  node,
  children,
}: Omit<FieldProps, 'schema'> & { node: Node; children: ReactNode }) {
  const { id } = useForm();
  const set = useSet({ path, empty });
  const own = idAt(id, path);
  const canBeRemoved = !isRequired && path.length > 0 && value !== undefined;
  return (
    <fieldset id={own} className="min-w-0 rounded border border-line p-3" aria-describedby={`${own}-problems`}>
      <legend className="px-1 font-medium">
        <bdi>{label}</bdi>
        {canBeRemoved && (
          <button
            type="button"
            className="ml-2 rounded px-1 text-xs font-normal text-muted underline hover:text-text"
            onClick={() => set(undefined)}
          >
            Remove <span className="sr-only">{label}</span>
          </button>
        )}
      </legend>
      <About node={node} id={own} />
      <div className="flex flex-col gap-3">{children}</div>
      <Problems path={path} />
    </fieldset>
  );
}

export function Problems({ path }: { path: Path }) {
  const { id } = useForm();
  const problems = useProblems(path);
  return (
    <div id={`${idAt(id, path)}-problems`} role="alert">
      {problems.map((text, at) => (
        <p key={at} className="mt-1 text-bad">
          <bdi>{text}</bdi>
        </p>
      ))}
    </div>
  );
}

// --- internal ---

function About({ node: { description }, id }: { node: Node; id: string }) {
  if (!description) return null;
  return (
    <p id={`${id}-about`} className="mb-1 text-muted">
      <bdi>{description}</bdi>
    </p>
  );
}

function useProblems(path: Path): string[] {
  const { issues, state } = useForm();
  const draft = state.drafts.get(keyOf(path));
  const own = (issues.get(keyOf(path)) ?? []).filter((issue) => startsWith(issue.path, path));
  return [...(draft ? [draft.message] : []), ...own.map((issue) => formatIssue(issue, path))];
}
