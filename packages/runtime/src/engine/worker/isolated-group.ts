import { startTimeout } from '../../timeout.ts';
import type { FromIsolated, IsolatedProcess } from '../isolation.ts';
import type { Journal } from '../journal.ts';
import type { RunRow } from '../journal/run.ts';
import { real } from '../real.ts';
import { ALIVE_MS } from './assigned.ts';

/** A process for suspects, and the runs it was given. */
export interface IsolatedGroup {
  readonly members: ReadonlyMap<string, RunRow>;
  readonly process: IsolatedProcess;
  /** Its name in the journal, once it can take runs. */
  readonly owner: string | undefined;
  /** Whether further suspects are given to it. */
  readonly isOpen: boolean;
  readonly isAlone: boolean;
  readonly isEnding: boolean;
  add(run: RunRow): void;
  /** Ends the process after it has given back its runs. */
  end(): void;
}

export interface IsolatedGroupOptions {
  process: IsolatedProcess;
  journal: Pick<Journal, 'renew'>;
  /** Who has the runs until the process can take them. */
  owner: string;
  leaseMs: number;
  isOpen: boolean;
  isAlone: boolean;
  /** Called with each message, after what it means for the group itself. */
  onMessage(message: FromIsolated): void;
}

export function openGroup(runs: readonly RunRow[], options: IsolatedGroupOptions): IsolatedGroup {
  const { process, journal, owner: from, leaseMs, isOpen, isAlone } = options;
  const members = new Map(runs.map((run) => [run.runId, run]));
  let owner: string | undefined;
  let isEnding = false;
  /** Looks in a row before which nothing came from it. */
  let silentLooks = 0;
  let idle: ReturnType<typeof setTimeout> | undefined;

  const take = (taken: Iterable<RunRow>): void => {
    const runIds = Array.from(taken, ({ runId }) => runId);
    process.send({ type: 'take', runIds, from, isAlone });
  };
  const end = (): void => {
    isEnding = true;
    process.send({ type: 'close' });
  };
  const leave = (runId: string): void => {
    members.delete(runId);
    if (members.size > 0) return;
    // Another suspect may come at once: it need not wait for a new process.
    idle = real.setTimeout(end, IDLE_MS);
    idle.unref();
  };
  /** A step that holds the event loop is to hold up no other run: they are divided until it is alone. */
  const look = (): void => {
    silentLooks += 1;
    const isStill = owner !== undefined && silentLooks > MOST_SILENT_LOOKS;
    watch = startTimeout(ALIVE_MS, look, real);
    if (isStill && members.size > 1) process.kill();
  };
  /** From here, so that such a step is not taken for dead. */
  const keepLease = (): void => {
    if (owner !== undefined) journal.renew(owner, leaseMs).catch(() => {});
  };

  const boot = real.setTimeout(() => process.kill(), BOOT_MS);
  let watch = startTimeout(ALIVE_MS, look, real);
  const lease = setInterval(keepLease, leaseMs / 3);
  process.onMessage((message) => {
    silentLooks = 0;
    if (message.type === 'ready') {
      real.clearTimeout(boot);
      owner = message.owner;
      take(members.values());
    } else if (message.type === 'left') leave(message.runId);
    options.onMessage(message);
  });
  process.onExit(() => {
    watch.end();
    clearInterval(lease);
    real.clearTimeout(idle);
    real.clearTimeout(boot);
  });

  return {
    members,
    process,
    isOpen,
    isAlone,
    get owner() {
      return owner;
    },
    get isEnding() {
      return isEnding;
    },
    add(run) {
      real.clearTimeout(idle);
      members.set(run.runId, run);
      if (owner !== undefined) take([run]);
    },
    end,
  };
}

// --- internal ---

/** How long a process without a run stays, in milliseconds. */
const IDLE_MS = 2_000;
/** How long one may take until it can have runs. */
const BOOT_MS = 60_000;
/** The event loop of one with several runs may stand still as long as these take. A standstill of this process is one of them. */
const MOST_SILENT_LOOKS = 3;
