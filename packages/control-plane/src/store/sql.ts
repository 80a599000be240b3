import { PlaneError } from '../errors.ts';

/** A statement with its values beside it: nothing of a caller is ever part of the text. */
export interface Sql {
  readonly texts: readonly string[];
  readonly values: readonly SqlValue[];
  /** It takes from a person the credential they were admitted by. Of a statement that is part of another one it says nothing. */
  readonly isTaking?: true;
}

export type SqlValue = string | number | null;

/** `sql\`select * from plane_users where id = ${id}\``; a statement in the place of a value becomes part of it. */
export function sql(strings: TemplateStringsArray, ...values: readonly (SqlValue | Sql)[]): Sql {
  const texts = [strings[0] ?? ''];
  const flat: SqlValue[] = [];
  for (const [at, value] of values.entries()) {
    const after = strings[at + 1] ?? '';
    if (typeof value !== 'object' || value === null) {
      if (typeof value === 'string' && value.includes('\0')) throw zeroByte();
      flat.push(value);
      texts.push(after);
      continue;
    }
    texts[texts.length - 1] += value.texts[0] ?? '';
    texts.push(...value.texts.slice(1));
    texts[texts.length - 1] += after;
    flat.push(...value.values);
  }
  return { texts, values: flat };
}

/** The same statement, marked as one that takes from a person a session, a membership, a role, or an access. */
export function taking(query: Sql): Sql {
  return { ...query, isTaking: true };
}

/** A text of our own as part of a statement, such as the name of a table. Never one that a caller has sent. */
export function raw(text: string): Sql {
  return { texts: [text], values: [] };
}

/** With `?` for each value, or `$1`, `$2` … */
export function toText({ texts }: Sql, placeholder: (at: number) => string): string {
  return texts.reduce((text, part, at) => `${text}${placeholder(at)}${part}`);
}

// --- internal ---

/** PostgreSQL keeps none, and SQLite may end the text there. */
function zeroByte(): PlaneError {
  return new PlaneError('invalid_request', 'A text holds the character U+0000, which is not kept.');
}
