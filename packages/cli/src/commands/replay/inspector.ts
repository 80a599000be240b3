import { CliError } from '../../errors.ts';

/** The debugger's way into this process. */
export interface Inspector {
  /** A debugger that is connected stops here. */
  pause(): void;
  close(): Promise<void>;
}

export interface InspectorOptions {
  port: number;
  /** Hold the process until a debugger is connected, and stop it in `pause`. */
  wait: boolean;
  say(line: string): void;
}

/** Opens the inspector of Node on this machine alone. Node prints its address on stderr. */
export async function openInspector({ port, wait, say }: InspectorOptions): Promise<Inspector> {
  const inspector = await import('node:inspector');
  const isOurs = inspector.url() === undefined;
  if (isOurs) inspector.open(port, '127.0.0.1');
  if (inspector.url() === undefined)
    throw new CliError('generic', `A debugger cannot be let in: port ${port} of 127.0.0.1 is in use.`, {
      suggestion: 'Choose another one with --inspect-port, for example 9230; 0 takes a free one.',
    });
  if (wait) {
    say('Waiting for a debugger: open chrome://inspect, or attach with the editor. It stops where the run begins.');
    inspector.waitForDebugger();
  }
  return {
    pause() {
      // oxlint-disable-next-line no-debugger -- what --inspect-brk is for; the next step in is the code of the run
      if (wait) debugger;
    },
    async close() {
      if (isOurs) inspector.close();
    },
  };
}
