/** Where something is in a JSON value; `[]` is the whole of it. As the box names the place of an issue. */
export type Path = readonly (string | number)[];

/** A path as the key of a map. */
export function keyOf(path: Path): string {
  return JSON.stringify(path);
}

export function readAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const segment of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, segment)) return undefined;
    at = (at as Record<string | number, unknown>)[segment];
  }
  return at;
}

/** The value with another one at the path. Undefined takes a member out; a place of a list stays, and is empty. */
export function writeAt(value: unknown, path: Path, next: unknown): unknown {
  const [segment, ...rest] = path;
  if (segment === undefined) return next;
  if (typeof segment === 'number') {
    const list = Array.isArray(value) ? [...(value as unknown[])] : [];
    list[segment] = writeAt(list[segment], rest, next);
    return list;
  }
  const members = new Map(isRecord(value) ? Object.entries(value) : []);
  const inner = writeAt(members.get(segment), rest, next);
  if (inner === undefined) members.delete(segment);
  else members.set(segment, inner);
  // A member may be called `__proto__`.
  return Object.fromEntries(members);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function startsWith(path: Path, start: Path): boolean {
  return path.length >= start.length && start.every((segment, at) => path[at] === segment);
}
