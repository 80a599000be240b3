import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../log.ts';
import { problemOf } from '../manifest.ts';
import type { DeclaredEntry, Problem, Program } from '../manifest.ts';
import type { EgressPolicy } from '../provider/egress.ts';
import { isConnection, parseDefinition } from './define.ts';
import type { DefinedConnection } from './define.ts';
import { toStored } from './resolve.ts';
import type { ConnectionStore } from './store.ts';

/** The connections that the workspace declares. */
export interface DeclaredConnections {
  /** Reads the files of a program, and makes what is not there yet; that is not waited for. */
  load(program: Program): Promise<void>;
  /** What was declared is made, or is known not to be. */
  settled(): Promise<void>;
  problems(): Problem[];
}

export interface DeclaredOptions {
  store: Pick<ConnectionStore, 'create' | 'find'>;
  egress: EgressPolicy;
  log: Log;
}

export function createDeclared({ store, egress, log }: DeclaredOptions): DeclaredConnections {
  let problems = new Map<string, Problem>();
  let making: Promise<void> = Promise.resolve();

  /** What an operator has set, or has changed by making it otherwise, stays. */
  const make = async ({ name: id, file }: DeclaredEntry, defined: DefinedConnection): Promise<void> => {
    const stored = toStored({ ...defined, id }, egress);
    const outcome = await store.create({ ...stored, createdBy: file });
    if (outcome === 'full') log.warn(`There is no room for the connection "${id}" of "${file}". Delete another one.`);
    const known = outcome === 'exists' ? (await store.find(id))?.connection : undefined;
    if (known?.createdBy !== file) return;
    const { provider, auth, title, settings } = known;
    const isSame = isDeepStrictEqual({ provider, auth, per: known.per, title, settings }, partsOf(stored));
    if (!isSame)
      log.warn(
        `The connection "${id}" is not as "${file}" says: it stays as it was created. Delete it, and it is created again from the file.`,
      );
  };
  return {
    async load(program) {
      const { connections, problems: found } = await readConnections(program);
      problems = found;
      if (connections.length === 0) return;
      making = making.then(async () => {
        for (const one of connections)
          await make(one.entry, one.defined).catch((error: unknown) => {
            const { code, message } = error as { code?: string; message: string };
            // Of the file; anything else is the store, which is asked again with the next program.
            if (code === 'connection_invalid') found.set(one.entry.file, problemOf(error, one.entry.file, code));
            log.warn(`The connection "${one.entry.name}" of "${one.entry.file}" could not be made.`, {
              problem: message,
            });
          });
      });
    },
    settled: () => making,
    problems: () => [...problems.values()],
  };
}

/** What the files of a program declare, and by file what is wrong with those that declare nothing usable. */
export async function readConnections(
  program: Program,
): Promise<{ connections: Declared[]; problems: Map<string, Problem> }> {
  const problems = new Map<string, Problem>();
  const read = async (entry: DeclaredEntry): Promise<Declared[]> => {
    try {
      return [{ entry, defined: await readOne(entry, program) }];
    } catch (error) {
      problems.set(entry.file, problemOf(error, entry.file));
      return [];
    }
  };
  const connections = await Promise.all((program.manifest.connections ?? []).map(read));
  return { connections: connections.flat(), problems };
}

// --- internal ---

interface Declared {
  entry: DeclaredEntry;
  defined: DefinedConnection;
}

async function readOne(entry: DeclaredEntry, program: Program): Promise<DefinedConnection> {
  const { file, problem } = entry;
  if (problem) throw Object.assign(new Error(problem.message), { problem });
  const definition = (await program.load(file)).exports['default'];
  if (!isConnection(definition))
    throw new TypeError(
      `The default export of "${file}" is not a connection. Write: export default defineConnection({ ... }).`,
    );
  return parseDefinition(definition);
}

function partsOf({ provider, auth, per, title, settings }: ReturnType<typeof toStored>) {
  // As the store holds it: what is undefined is not there.
  return { provider, auth, per, title, settings: JSON.parse(JSON.stringify(settings)) as unknown };
}
