import { setTimeout as sleep } from 'node:timers/promises';
import { AttachRefused, attach } from './attach.ts';
import type { AttachOptions } from './attach.ts';

export interface KeepOptions extends AttachOptions {
  publicUrl: string;
  say(line: string): void;
  /** Milliseconds before the nth try to come back. */
  backOff?(tries: number): number;
}

/**
 * Attaches to the relay, and again whenever the connection is lost, until the tunnel is over. Answers how to end it, once it
 * is attached. Rejects where it is not.
 */
export async function keepAttached(options: KeepOptions): Promise<() => Promise<void>> {
  const { publicUrl, say, backOff = backOffMs } = options;
  const ended = new AbortController();
  const { signal } = ended;
  let attached = await attach(options);
  const comeBack = async (): Promise<boolean> => {
    for (let tries = 0; !signal.aborted; tries++) {
      await sleep(backOff(tries), undefined, { signal }).catch(() => {});
      if (signal.aborted) return false;
      try {
        attached = await attach(options);
        return true;
      } catch (error) {
        if (!(error instanceof AttachRefused) || !error.isFinal) continue;
        say(formatEnd(publicUrl, error.message));
        return false;
      }
    }
    return false;
  };
  const keep = async (): Promise<void> => {
    for (;;) {
      const code = await attached.closed;
      if (signal.aborted) return;
      const reason = ENDS[code];
      if (reason !== undefined) return say(formatEnd(publicUrl, reason));
      say('The tunnel is cut off. It is opened again, under the same address, as soon as the control plane answers.');
      if (!(await comeBack())) return;
      // It may have been ended while it came back.
      if (signal.aborted) return attached.close();
      say(`The tunnel is open again: ${publicUrl}`);
    }
  };
  const keeping = keep();
  return async () => {
    ended.abort();
    await attached.close();
    await keeping;
  };
}

/** Twice as long each time, to half a minute, of which a random part: boxes that were cut off at once come back apart. */
export function backOffMs(tries: number): number {
  const most = Math.min(30_000, 500 * 2 ** Math.min(tries, 10));
  return most / 2 + (Math.random() * most) / 2;
}

export function formatEnd(publicUrl: string, reason: string): string {
  return `${publicUrl} answers no more: ${reason} The box goes on; start \`svc dev\` again for another tunnel.`;
}

// --- internal ---

/** What a relay closes with that is not to be opened again. */
const ENDS: Record<number, string | undefined> = {
  4000: 'a tunnel is valid for 8 hours.',
  4001: 'another `svc dev` of this agent has opened a tunnel.',
  4002: 'its agent is no longer there.',
  4003: 'the person who opened it is signed out, or may not have one any more.',
};
