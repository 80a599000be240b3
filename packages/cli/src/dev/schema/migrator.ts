import { existsSync, unwatchFile, watchFile } from 'node:fs';
import type { Stats } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { MIGRATIONS_FOLDER, readMigrations } from '@svc/compiler';
import { applyProjectMigrations, findPendingMigrations, listAppliedMigrations } from '@svc/runtime/host';
import type { LoadedModule, Problem, ProjectMigration, StoreClient } from '@svc/runtime/host';
import { CliError } from '../../errors.ts';
import { writeApplied } from './applied.ts';
import { compareSchema, SCHEMA_FILE } from './compare.ts';
import type { Comparison } from './compare.ts';
import { checkDrizzle } from './drizzle.ts';
import { draftMigration, JOURNAL_FILE } from './folder.ts';
import { formatFailure, formatQuestions, GENERATE } from './words.ts';

export interface MigratorOptions {
  root: string;
  client: StoreClient;
  /** Resolves when the box's own tables are there. */
  ready: Promise<unknown>;
  /** Whether it is the database in `.svc`. */
  isEmbedded: boolean;
  /** False: it says what is to be done, and does nothing. */
  isAutomatic: boolean;
  load(file: string): Promise<LoadedModule>;
  say(line: string): void;
  /** Is handed why `src/schema.ts` cannot be used where no call of `refresh` answers it. */
  report(problems: Problem[]): void;
}

/** Keeps the project's tables in the dev database in step with `.svc/migrations` and `src/schema.ts`. */
export interface Migrator {
  /** Whether there is anything to keep in step. */
  isNeeded(): boolean;
  /** To be called at the boot and after each edit. Never rejects; answers why `src/schema.ts` cannot be used. */
  refresh(): Promise<Problem[]>;
  /** Whether it has said why `src/schema.ts` is not in force, and that stands. */
  isBehind(): boolean;
  /** Resolves when nothing is under way. */
  close(): Promise<void>;
}

export function createMigrator(options: MigratorOptions): Migrator {
  const { root } = options;
  const state: State = { ...options, said: '', settled: '', refused: '', failing: undefined };
  let last: Promise<Problem[]> = Promise.resolve([]);
  let isClosed = false;
  const enqueue = (isEdit: boolean): Promise<Problem[]> => {
    last = last.then(() => (isClosed ? [] : refreshOnce(state, isEdit).finally(watchFailing)));
    return last;
  };
  // What another command or git puts there. Asked for by name, so that the folder may come and go.
  const onFile = (is: Stats, was: Stats): void => {
    // A file that is not there is reported once, too.
    if (is.ctimeMs === was.ctimeMs) return;
    void enqueue(false).then((problems) => {
      if (problems.length > 0) state.report(problems);
    });
  };
  const watched = new Set<string>();
  const watch = (file: string): void => {
    if (watched.has(file)) return;
    watched.add(file);
    watchFile(join(root, file), { interval: POLL_MS, persistent: false }, onFile);
  };
  const watchFailing = (): void => {
    if (state.failing && !isClosed) watch(state.failing);
  };
  watch(JOURNAL_FILE);
  return {
    isNeeded: () => isNeeded(root),
    refresh: () => enqueue(true),
    isBehind: () => state.said !== '',
    async close() {
      isClosed = true;
      for (const file of watched) unwatchFile(join(root, file), onFile);
      await last;
    },
  };
}

// --- internal ---

interface State extends MigratorOptions {
  /** What was last said of something that does not work, so that it is said once. */
  said: string;
  /** What `src/schema.ts` and the folder were when they last agreed. */
  settled: string;
  /** What they were when the database refused the change: not tried again before the next edit. */
  refused: string;
  /** The file that cannot be applied. */
  failing: string | undefined;
}

const POLL_MS = 250;

function isNeeded(root: string): boolean {
  return existsSync(join(root, SCHEMA_FILE)) || existsSync(join(root, JOURNAL_FILE));
}

async function refreshOnce(state: State, isEdit: boolean): Promise<Problem[]> {
  if (!isNeeded(state.root)) return [];
  state.failing = undefined;
  try {
    await state.ready;
    const migrations = readMigrations(state.root);
    if (!(await applyPending(state, migrations))) return [];
    const problems = await followSchema(state, { migrations, isEdit });
    await remember(state);
    return problems;
  } catch (error) {
    announce(state, formatFailure(error));
    return [];
  }
}

/** False: there is no going on from here. */
async function applyPending(state: State, migrations: ProjectMigration[]): Promise<boolean> {
  const { client, isAutomatic, say } = state;
  const pending = findPendingMigrations(migrations, await listAppliedMigrations(client));
  if (pending.length === 0) return true;
  if (!isAutomatic) {
    const names = pending.map(({ name }) => name).join(', ');
    announce(state, `Pending: ${names}. Migrations are left alone here; apply them with: svc schema apply`);
    return false;
  }
  // One that fails is looked at again when it is saved.
  let at = pending[0]?.name;
  const onApplied = ({ name }: ProjectMigration): void => {
    say(`Migrated: ${toFile(name)}`);
    at = pending[pending.findIndex((one) => one.name === name) + 1]?.name;
  };
  try {
    await applyProjectMigrations(client, migrations, { onApplied });
    return true;
  } catch (error) {
    state.failing = at && toFile(at);
    throw error;
  }
}

async function followSchema(
  state: State,
  { migrations, isEdit }: { migrations: ProjectMigration[]; isEdit: boolean },
): Promise<Problem[]> {
  const { root, load } = state;
  if (!existsSync(join(root, SCHEMA_FILE))) {
    if (state.settled !== '')
      announce(state, `${SCHEMA_FILE} is gone. Its tables stay as they are, with what they hold.`);
    state.settled = '';
    return [];
  }
  let change: Comparison;
  let hash: string;
  let stamp: string;
  try {
    checkDrizzle(root);
    const loaded = await load(SCHEMA_FILE);
    hash = loaded.hash;
    stamp = toStamp(hash, migrations);
    if (stamp === state.settled) state.said = '';
    if (stamp === state.settled || (stamp === state.refused && !isEdit)) return [];
    change = await compareSchema(root, loaded.exports);
  } catch (error) {
    if (error instanceof CliError) throw error;
    return [toProblem(error)];
  }
  if (change.questions.length > 0)
    announce(state, `${SCHEMA_FILE} is not applied.\n${formatQuestions(change.questions)}`);
  else if (change.statements.length > 0) await applyChange(state, { change, migrations, hash });
  else {
    state.settled = stamp;
    state.said = '';
  }
  return [];
}

interface Changing {
  change: Comparison;
  migrations: ProjectMigration[];
  /** Of `src/schema.ts`. */
  hash: string;
}

/** The file comes with the commit: whatever ends this process in between, the next boot finds both or neither. */
async function applyChange(state: State, { change, migrations, hash }: Changing): Promise<void> {
  const { root, client, isAutomatic, say } = state;
  if (!isAutomatic) {
    announce(state, `${SCHEMA_FILE} has changes that no migration holds. Write one with: ${GENERATE}`);
    return;
  }
  const draft = draftMigration(root, change);
  const migration = { name: draft.name, sql: draft.sql, hash: createHash('sha256').update(draft.sql).digest('hex') };
  try {
    await applyProjectMigrations(client, [...migrations, migration], { onApply: () => draft.write() });
    // At once, not with the next look at the folder: the file may be gone or broken by then.
    state.settled = toStamp(hash, [...migrations, migration]);
    state.said = '';
    say(`Migrated: ${draft.file}`);
  } catch (error) {
    draft.remove();
    state.refused = toStamp(hash, migrations);
    announce(state, `${SCHEMA_FILE} is not applied. ${formatFailure(error, SCHEMA_FILE)}`);
  }
}

/** What `src/schema.ts` and the folder are together. */
function toStamp(hash: string, migrations: readonly { name: string }[]): string {
  return [hash, ...migrations.map(({ name }) => name)].join(' ');
}

async function remember({ root, client, isEmbedded }: State): Promise<void> {
  writeApplied(root, { isEmbedded, migrations: await listAppliedMigrations(client) });
}

function announce(state: State, text: string): void {
  if (text !== state.said) state.say(text);
  state.said = text;
}

function toFile(name: string): string {
  return `${MIGRATIONS_FOLDER}/${name}.sql`;
}

/** A schema that loads and still makes no sense is at fault as a whole. */
function toProblem(error: unknown): Problem {
  const { problem, message } = error as { problem?: Problem; message: string };
  if (problem) return problem;
  return { code: 'schema_invalid', message, file: SCHEMA_FILE, line: 1, column: 1, frame: '' };
}
