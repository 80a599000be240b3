import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { SHORT_LIVED } from '../../../scripts/_short-lived.mjs';

/** Where a process is to kill itself. */
export type Death =
  | { step: string; when: 'before' | 'during' | 'after'; nth: number }
  /** At a statement on the database of the box that has the text, with a parameter that begins so where one is named. Of
   * `versions-worker`, on the journal, by a regular expression. */
  | { sql: string; param?: string; when: 'before' | 'after'; nth: number }
  /**
   * Before the nth call of that method of the journal, and of those at once with it none is made; or behind one. `has`: of
   * those alone that are given some of these.
   */
  | { journal: string; has?: 'hooks'; when?: 'before' | 'after'; nth: number };

/** A box with agents, in a process of its own. */
export interface Worker {
  url: string;
  child: ChildProcess;
  /** Resolves once the process knows where it is to die. */
  arm(death: Death): Promise<void>;
  kill(): Promise<void>;
}

export interface WorkerOptions {
  folder: string;
  modelUrl: string;
  /** One of several replicas on it. Default: alone, on files in the folder. */
  database?: string | undefined;
  /** Known from the beginning. */
  death?: Death | undefined;
  /** What runs, in `fixtures/`. Default: a box with agents. */
  program?: string;
}

export async function forkWorker({
  folder,
  modelUrl,
  database,
  death: known,
  program = 'turn-worker.mjs',
}: WorkerOptions): Promise<Worker> {
  const file = fileURLToPath(new URL(`fixtures/${program}`, import.meta.url));
  const child = fork(file, [folder, modelUrl, ...(database === undefined ? [] : [database])], {
    env: { ...process.env, ...(known ? { TURN_DEATH: JSON.stringify(known) } : {}) },
    // Not those of the test's own process, by which a package is its sources: what runs is what is built.
    execArgv: SHORT_LIVED,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The worker ended with ${code} before it was ready.`);
  });
  const [{ url }] = (await Promise.race([once(child, 'message'), ended])) as [{ url: string }];
  ended.catch(() => {});
  return {
    url,
    child,
    async arm(death) {
      child.send(death);
      await once(child, 'message');
    },
    kill: async () => void (child.exitCode ?? child.signalCode ?? (await kill(child))),
  };
}

// --- internal ---

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
