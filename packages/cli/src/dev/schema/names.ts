import type { Named, Snapshot } from './snapshot.ts';

/** Where a thing of the schema is: `users` in `public`, `auth.users` elsewhere; a part of it one name further. */
export function toKey({ schema, name }: Named, part?: string): string {
  const whole = schema && schema !== 'public' ? `${schema}.${name}` : name;
  return part === undefined ? whole : `${whole}.${part}`;
}

/** As snapshots name it. */
export function toSnapshotKey({ schema, name }: Named): string {
  return `${schema || 'public'}.${name}`;
}

/** As SQL names it. */
export function quote({ schema, name }: Named): string {
  return schema && schema !== 'public' ? `${quoteName(schema)}.${quoteName(name)}` : quoteName(name);
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** What is in the first alone, by key, sorted. */
export function missingFrom<T>(first: Record<string, T>, second: Record<string, unknown>): T[] {
  return Object.keys(first)
    .filter((key) => !Object.hasOwn(second, key))
    .sort()
    .flatMap((key) => first[key] ?? []);
}

export function copySnapshot(snapshot: Snapshot): Snapshot {
  return structuredClone(snapshot);
}
