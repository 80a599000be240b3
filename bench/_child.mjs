// @ts-check
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * A process that does what it is asked, one thing after the other.
 * @typedef {object} Child
 * @property {(command: string, input?: unknown) => Promise<any>} ask
 * @property {() => Promise<void>} kill  as `kill -9` does
 */

/**
 * Starts a file of this folder that calls `serve`.
 * @param {string} file
 * @param {object} config
 * @returns {Child}
 */
export function startChild(file, config) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = fork(path, [JSON.stringify(config)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  return {
    async ask(command, input) {
      const ending = new AbortController();
      const answered = once(child, 'message', { signal: ending.signal });
      // A process that is gone cannot be told; its end says so below.
      child.send({ command, input }, () => {});
      const [message] = await Promise.race([answered, ended]);
      ending.abort();
      answered.catch(() => {}); // no one waits for it
      if (typeof message !== 'object' || message === null)
        throw new Error(`The process of the benchmark ended at "${command}". What it said is above.`);
      return message.answer;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** What the child was started with. */
export function readConfig() {
  return JSON.parse(process.argv[2] ?? '{}');
}

/**
 * Answers the commands of the parent until it hangs up or is gone.
 * @param {Record<string, (input: any) => unknown>} commands
 */
export function serve(commands) {
  process.on('disconnect', () => process.exit());
  process.on('message', async (/** @type {{ command: string, input: unknown }} */ { command, input }) => {
    const run = commands[command];
    if (!run) throw new Error(`There is no command "${command}".`);
    process.send?.({ answer: await run(input) });
  });
}

/**
 * Seconds.
 * @param {() => unknown} work
 */
export async function timed(work) {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1_000;
}
