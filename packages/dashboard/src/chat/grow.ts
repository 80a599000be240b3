/** A text that has grown. `at`: how much of it has come again; undefined: all of it has, or it came once. */
export interface Grown {
  text: string;
  at: number | undefined;
}

/**
 * A text with its next piece. One that comes again from its beginning stays as it is shown while it says the same; from
 * where it goes on in another way it is the new one.
 */
export function growText(text: string, delta: string, at: number | undefined): Grown {
  if (at === undefined) return { text: text + delta, at };
  if (text.startsWith(delta, at)) return { text, at: at + delta.length < text.length ? at + delta.length : undefined };
  return { text: text.slice(0, at) + delta, at: undefined };
}

/** Notes that a text of this length begins again, or where it has come to. */
export function startText(
  again: Readonly<Record<string, number>>,
  id: string,
  length: number,
  at: number | undefined = length > 0 ? 0 : undefined,
): Readonly<Record<string, number>> {
  if (again[id] === at) return again;
  const { [id]: _, ...rest } = again;
  return at === undefined ? rest : { ...rest, [id]: at };
}
