import { fork } from 'node:child_process';
import { Worker } from 'node:worker_threads';
import type { FromIsolated, Isolate, Supervisor, ToIsolated } from '../engine/isolation.ts';

/** Of the command line of a process that takes no run but those it is given. */
export const SUPERVISED = '--supervised';

export interface ForkOptions {
  /** The module it runs, as a path. */
  module: string;
  /** Its command line, to which `SUPERVISED` is added. */
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /** Where what they write to stdout goes, as a file descriptor. Default: where this one's does. */
  stdout?: number;
}

/** Begins processes over the same program. What they write to stderr goes where this one's does. */
export function createForker({ module, args, env, stdout = 1 }: ForkOptions): Isolate {
  // Two processes cannot have the port of one debugger.
  const execArgv = process.execArgv.filter((flag) => !flag.startsWith('--inspect'));
  return () => {
    const child = fork(module, [...args, SUPERVISED], {
      env,
      execArgv,
      stdio: ['ignore', stdout, 2, 'ipc'],
    });
    // That it cannot be begun is an exit too; after it, nothing comes.
    const exits = new Set<() => void>();
    let isOver = false;
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      for (const listener of exits) listener();
    };
    child.once('exit', over);
    child.once('error', over);
    return {
      send(message) {
        if (child.connected) child.send(message, () => {});
      },
      onMessage: (listener) => void child.on('message', (message) => listener(message as FromIsolated)),
      onExit: (listener) => void exits.add(listener),
      kill: () => void child.kill('SIGKILL'),
    };
  };
}

export interface Supervised {
  supervisor: Supervisor;
  /** Resolves when the process is to give its runs back and end. */
  closed: Promise<void>;
}

/**
 * Makes this process one that another has begun for suspects. It ends when that one is gone, and leaves signals to it: a
 * terminal and an init send theirs to both.
 */
export function superviseProcess(): Supervised {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => {});
  process.on('disconnect', () => process.exit(1));
  // It was gone before anyone listened: nothing would say so any more.
  if (!process.connected) process.exit(1);
  // A step that holds the event loop would outlive the other process: a thread of its own looks.
  new Worker(END_WITH_PARENT, { eval: true, workerData: process.ppid }).unref();
  const supervisor: Supervisor = {
    send(message) {
      if (process.connected) process.send?.(message, undefined, undefined, () => {});
    },
    onMessage: (listener) => void process.on('message', (message) => listener(message as ToIsolated)),
  };
  const closed = new Promise<void>((resolve) => {
    supervisor.onMessage(({ type }) => {
      if (type === 'close') resolve();
    });
  });
  return { supervisor, closed };
}

// --- internal ---

const END_WITH_PARENT = `
  const { workerData } = require('node:worker_threads');
  setInterval(() => process.ppid === workerData || process.kill(process.pid, 'SIGKILL'), 1000);
`;
