import type { Issue } from './check.ts';
import { isRecord, keyOf } from './path.ts';
import type { Path } from './path.ts';
import { describe, findVariant } from './schema.ts';
import type { JsonSchema } from './schema.ts';

/** The issues by the field that shows each: its own, or the nearest one around it that is drawn. */
export function placeIssues(schema: JsonSchema, value: unknown, issues: readonly Issue[]): Map<string, Issue[]> {
  const placed = new Map<string, Issue[]>();
  for (const issue of issues) {
    const key = keyOf(findDrawn(schema, value, issue.path));
    placed.set(key, [...(placed.get(key) ?? []), issue]);
  }
  return placed;
}

/** What the box says of an input, out of `details.issues` of a refusal. Undefined: it says nothing of that kind. */
export function readIssues(details: unknown): Issue[] | undefined {
  if (!isRecord(details) || !Array.isArray(details['issues'])) return undefined;
  const issues = (details['issues'] as unknown[]).filter(isIssue);
  return issues.length > 0 ? issues : undefined;
}

/** An issue in one line, for where its field does not say what it is about. */
export function formatIssue({ path, message }: Issue, shownAt: Path = []): string {
  const rest = path.slice(shownAt.length);
  return rest.length > 0 ? `${rest.join('.')}: ${message}` : message;
}

// --- internal ---

function isIssue(issue: unknown): issue is Issue {
  return isRecord(issue) && Array.isArray(issue['path']) && typeof issue['message'] === 'string';
}

function findDrawn(root: JsonSchema, value: unknown, path: Path): Path {
  let schema: unknown = root;
  let at = value;
  let depth = 0;
  for (;;) {
    const node = describe(schema, root);
    const segment = path[depth];
    if (node.kind === 'nullable' && at !== null) schema = node.of;
    else if (node.kind === 'variants') {
      const option = node.options[findVariant(node, at, root)];
      if (!option) return path.slice(0, depth);
      ({ schema } = option);
    } else if (node.kind === 'object' && segment !== undefined && isRecord(at)) {
      const member = node.members.find(({ name }) => name === segment);
      if (!member) return path.slice(0, depth);
      ({ schema } = member);
      at = Object.hasOwn(at, segment) ? at[segment] : undefined;
      depth += 1;
    } else if (node.kind === 'list' && typeof segment === 'number' && Array.isArray(at) && segment < at.length) {
      schema = node.items;
      at = (at as unknown[])[segment];
      depth += 1;
    } else return path.slice(0, depth);
  }
}
