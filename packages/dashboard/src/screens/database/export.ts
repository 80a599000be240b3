/** The names of the columns, each once: a statement may answer two of one name. */
export function toNames(columns: readonly { name: string }[]): string[] {
  const taken = new Set<string>();
  return columns.map(({ name }) => {
    let own = name;
    for (let n = 2; taken.has(own); n += 1) own = `${name} (${n})`;
    taken.add(own);
    return own;
  });
}

export function toObject(names: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? null]));
}

/**
 * As `copy … to … csv header` of Postgres writes it: a null is nothing at all, an empty text is `""`, and lines end with
 * CRLF, as RFC 4180 defines it.
 */
export function toCsv(columns: readonly { name: string }[], rows: readonly (readonly unknown[])[]): string {
  const lines = [columns.map(({ name }) => toCsvField(name)), ...rows.map((row) => row.map(toCsvField))];
  return lines.map((fields) => `${fields.join(',')}\r\n`).join('');
}

export function toJson(columns: readonly { name: string }[], rows: readonly (readonly unknown[])[]): string {
  const names = toNames(columns);
  return JSON.stringify(
    rows.map((values) => toObject(names, values)),
    null,
    2,
  );
}

// --- internal ---

function toCsvField(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
