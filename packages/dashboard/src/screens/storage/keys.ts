/** The folder that the beginning of a key lies in: `a/b` is in `a/`, and what has no `/` in `''`, which holds all. */
export function folderOf(prefix: string): string {
  return prefix.slice(0, prefix.lastIndexOf('/') + 1);
}

/** What comes after a folder; of `a/b/`, which is one itself, `b/`. */
export function nameOf(key: string): string {
  return key.slice(folderOf(key.replace(/\/$/, '')).length);
}

/** The folders on the way to one, from the outside in. */
export function foldersTo(prefix: string): { name: string; prefix: string }[] {
  const names = folderOf(prefix).split('/').slice(0, -1);
  return names.map((name, at) => ({ name, prefix: `${names.slice(0, at + 1).join('/')}/` }));
}

/** `report.csv` is a `csv`. Undefined: its name does not say. */
export function endingOf(key: string): string | undefined {
  return /[^/.][^/]*\.([A-Za-z0-9]{1,8})$/.exec(key)?.[1]?.toLowerCase();
}

/** `850 bytes`, `1.2 kB`, `3.4 GB`. */
export function toBytes(size: number): string {
  if (size < 1_000) return size === 1 ? '1 byte' : `${size} bytes`;
  const power = Math.min(UNITS.length, Math.floor(Math.log10(size) / 3));
  const amount = size / 1_000 ** power;
  return `${amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${UNITS[power - 1]}`;
}

// --- internal ---

const UNITS = ['kB', 'MB', 'GB', 'TB'];
