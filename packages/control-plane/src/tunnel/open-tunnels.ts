import type { WebSocket } from 'ws';
import type { Log } from '../../../runtime/src/log.ts';
import { openAttachment } from './attachment.ts';
import type { Attachment } from './attachment.ts';
import { coalesce } from './coalesce.ts';
import type { Grant } from './grants.ts';
import { CLOSED } from './limits.ts';
import type { RelayLimits } from './limits.ts';
import type { Held, Registry } from './registry.ts';

/** The tunnels whose boxes are connected to this control plane. */
export interface OpenTunnels {
  list(): Grant[];
  /** The connection of a box. Undefined: it is not here. */
  find(name: string): Attachment | undefined;
  /** A box that was taken. The connection it had, and those of older tunnels of its installation, are closed. */
  add(held: Held, socket: WebSocket): void;
  /** A newer tunnel takes the place of those that are open here at once. */
  replace(newer: Pick<Grant, 'installationId' | 'name'>): void;
  /** The box of one that was taken did not come after all. */
  leave(held: Held): void;
  /** Ends those that are good no more, as every second. Answers once they are ended. */
  check(): Promise<void>;
  /** Says to each that the control plane goes. */
  close(): void;
}

/** `ended`: there is no installation any more. `revoked`: who opened it may no more, or is signed out. */
export type End = 'ended' | 'revoked';

export interface OpenTunnelsOptions {
  now(): number;
  log: Log;
  limits: RelayLimits;
  registry: Registry;
  /** Which of the grants are good no more, and why. */
  findEnds(grants: readonly Grant[]): Promise<ReadonlyMap<Grant, End>>;
}

export function createOpenTunnels({ now, log, limits, registry, findEnds }: OpenTunnelsOptions): OpenTunnels {
  const open = new Map<string, { held: Held; attachment: Attachment }>();
  let isClosed = false;
  const detach = (name: string, code: number, reason: string): void => {
    open.get(name)?.attachment.close(code, reason);
    open.delete(name);
  };
  const listHeld = () => [...open.values()].map(({ held }) => held);
  const cut = async (held: readonly Held[]): Promise<void> => {
    if (held.length === 0) return;
    try {
      for (const [{ name }, end] of await findEnds(held.map(({ grant }) => grant))) detach(name, CLOSED[end], end);
      for (const { grant, id } of await registry.findLost(held))
        if (open.get(grant.name)?.held.id === id) detach(grant.name, CLOSED.replaced, 'replaced');
    } catch (error) {
      log.warn('Whether the tunnels are still valid could not be read. It is tried again in a moment.', { error });
    }
  };
  const leave = (held: Held): void => {
    if (isClosed) return;
    registry.leave(held).catch((error: unknown) => log.warn('The end of a tunnel could not be recorded.', { error }));
  };
  const replace = ({ installationId, name }: Pick<Grant, 'installationId' | 'name'>): void => {
    for (const { grant } of listHeld())
      if (grant.installationId === installationId && grant.name !== name)
        detach(grant.name, CLOSED.replaced, 'replaced');
  };
  const look = (): void => {
    for (const { name, expiresAt } of listHeld().map(({ grant }) => grant))
      if (expiresAt <= now()) detach(name, CLOSED.expired, 'expired');
    if (open.size > 0)
      registry
        .beat()
        .catch((error: unknown) => log.warn('The tunnels of this process could not be recorded.', { error }));
  };
  const check = coalesce(() => cut(listHeld()));
  const timers = [setInterval(look, limits.beatMs), setInterval(() => void check(), limits.checkMs)];
  for (const timer of timers) timer.unref();
  return {
    check,
    leave,
    replace,
    list: () => listHeld().map(({ grant }) => grant),
    find(name) {
      const found = open.get(name);
      if (found && found.held.grant.expiresAt <= now()) detach(name, CLOSED.expired, 'expired');
      return open.get(name)?.attachment;
    },
    add(held, socket) {
      const { name } = held.grant;
      replace(held.grant);
      // Of a box that comes back before its last connection is known to be lost.
      detach(name, CLOSED.replaced, 'replaced');
      const attachment = openAttachment(socket, {
        limits,
        log,
        onClosed() {
          if (open.get(name)?.attachment === attachment) open.delete(name);
          leave(held);
        },
      });
      open.set(name, { held, attachment });
      // What was asked before the connection was taken over may be over by now.
      void cut([held]);
    },
    close() {
      isClosed = true;
      for (const timer of timers) clearInterval(timer);
      for (const name of open.keys()) detach(name, GOING_AWAY, 'closing');
    },
  };
}

// --- internal ---

/** The box comes back to it, once there is one again. */
const GOING_AWAY = 1001;
