import type { StoredRow } from '../sql/rows.ts';
import type { Script } from '../sql/script.ts';
import type { SqliteDatabase, SqliteStatement } from './driver.ts';

/** Runs a script. To be called in a transaction. */
export type RunScript = <T>(script: Script<T>, now: number) => T;

export function createScriptRunner(db: SqliteDatabase): RunScript {
  // The texts are few: each is one of the scripts'.
  const prepared = new Map<string, Prepared>();

  function prepare(text: string): Prepared {
    const known = prepared.get(text);
    if (known) return known;
    const made = { statement: db.prepare<StoredRow>(text), answers: ANSWERS.test(text) };
    prepared.set(text, made);
    return made;
  }

  return (script, now) => {
    let next = script.next();
    while (!next.done) {
      const given = next.value;
      if ('locks' in given) {
        next = script.next([{ now }]);
        continue;
      }
      const { statement, answers } = prepare(given.text);
      if (!answers) statement.run(...given.params);
      next = script.next(answers ? statement.all(...given.params) : []);
    }
    return next.value;
  };
}

// --- internal ---

interface Prepared {
  statement: SqliteStatement<StoredRow>;
  answers: boolean;
}

/** A driver throws when it is asked for the rows of a statement that answers none. */
const ANSWERS = /^\s*(?:select|with)|\sreturning\s/;
