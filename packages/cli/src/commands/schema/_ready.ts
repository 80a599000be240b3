import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '@svc/runtime/host';
import { CliError } from '../../errors.ts';
import { readComparison, readFolder, toAmbiguous } from './_schema.ts';

/** Why a box that is built from here would not have the tables its code asks for. */
export interface Fault extends Problem {
  /** What a command that stops at it ends with; the problem may have a narrower one. */
  error: string;
  /** What to do, one sentence. */
  suggestion: string;
  details: Record<string, unknown>;
  /** False: the box starts, unless its database has the migration as it was. */
  isFatal: boolean;
}

/** Whether `.svc/migrations` is whole and holds all that `src/schema.ts` says. Asks no database. */
export async function findFaults(root: string): Promise<Fault[]> {
  const [{ SCHEMA_FILE }, { JOURNAL_FILE }] = await Promise.all([
    import('../../dev/schema/compare.ts'),
    import('../../dev/schema/folder.ts'),
  ]);
  if (![SCHEMA_FILE, JOURNAL_FILE].some((file) => existsSync(join(root, file)))) return [];
  try {
    const edited = await findEdited(root);
    const found = await readComparison(root);
    if (found && found.questions.length > 0) return [...edited, toFault(await toAmbiguous(OPEN, found.questions))];
    if (found && found.statements.length > 0) return [...edited, toAhead(found.statements)];
    return edited;
  } catch (error) {
    if (error instanceof CliError) return [toFault(error)];
    throw error;
  }
}

/** Throws the first that would leave a box without its tables; answers the others. */
export async function checkReady(root: string): Promise<Problem[]> {
  const faults = await findFaults(root);
  const fatal = faults.find(({ isFatal }) => isFatal);
  if (!fatal) return faults.map(toProblem);
  const { error, message, suggestion, details } = fatal;
  throw new CliError(error, message, { suggestion, details: { ...details, problems: [toProblem(fatal)] } });
}

/** As the other problems of a workspace are reported: the advice is part of the message. */
export function toProblem({ code, message, suggestion, file, line, column, frame }: Fault): Problem {
  return { code, message: `${message} ${suggestion}`, file, line, column, frame };
}

// --- internal ---

const SCHEMA = 'src/schema.ts';
const OPEN = `${SCHEMA} has changes that no migration holds.`;
const JOURNAL = '.svc/migrations/meta/_journal.json';
const NOWHERE = { line: 1, column: 1, frame: '', details: {}, isFatal: true };

/** Also throws what is wrong with the folder as a whole: nothing can be said on top of it. */
async function findEdited(root: string): Promise<Fault[]> {
  const [{ checkHistory }, { readApplied }] = await Promise.all([
    import('../../dev/schema/history.ts'),
    import('../../dev/schema/applied.ts'),
  ]);
  const migrations = await readFolder(root);
  checkHistory(root, migrations);
  const applied = new Map(readApplied(root).map(({ name, hash }) => [name, hash]));
  const edited = migrations.filter(({ name, hash }) => (applied.get(name) ?? hash) !== hash);
  return edited.map(({ name }) => ({
    ...NOWHERE,
    ...both('migration_changed'),
    message: `The migration "${name}" was edited after it was applied to the dev database. A box whose database has the earlier version of it does not start.`,
    suggestion: 'Bring the file back with git, and write the change as a migration of its own.',
    file: `.svc/migrations/${name}.sql`,
    isFatal: false,
  }));
}

function toAhead(statements: readonly string[]): Fault {
  return {
    ...NOWHERE,
    ...both('schema_ahead'),
    message: `${SCHEMA} has changes that no migration holds, so a deployed box would not have them: ${statements.map(toLine).join(' ')}`,
    suggestion: 'Write the migration: svc schema generate',
    file: SCHEMA,
    details: { statements },
  };
}

function toFault({ code, message, suggestion, details }: CliError): Fault {
  const [problem] = (details['problems'] ?? []) as Problem[];
  if (problem) return { ...problem, error: code, suggestion, details: {}, isFatal: true };
  const file = code === 'migrations_invalid' ? JOURNAL : SCHEMA;
  return { ...NOWHERE, ...both(code), message, suggestion, details, file };
}

function both(code: string): { code: string; error: string } {
  return { code, error: code };
}

/** Of a statement over many lines, the first. */
function toLine(statement: string): string {
  const [first = ''] = statement.split('\n');
  return first.endsWith(';') ? first : `${first.replace(/\s*\($/, '')};`;
}
