import type { Grant } from './grants.ts';

/** Which tunnel is the newest of each installation, and which control plane the box is at. */
export interface Registry {
  /** A new one, which is the newest of its installation. Answers when it was issued: later than any before. */
  add(tunnel: Omit<Grant, 'issuedAt'>): Promise<number>;
  /** The box has come to this control plane. Undefined: its installation has a newer tunnel. */
  take(grant: Grant): Promise<Held | undefined>;
  /** The box is here no more. It may be by now where it was taken later. */
  leave(held: Held): Promise<void>;
  /**
   * Those whose installation has a newer tunnel, or whose box was taken by another control plane since. One that another took
   * and has left again is taken once more.
   */
  findLost(held: readonly Held[]): Promise<ReadonlySet<Held>>;
  /** Which other control plane has the box of that name. Undefined: none. */
  findHolder(name: string): Promise<TunnelHolder | undefined>;
  /** Says that what it holds is still held. */
  beat(): Promise<void>;
  close(): Promise<void>;
}

/** One time that a box was taken. */
export interface Held {
  grant: Grant;
  id: string;
}

export interface TunnelHolder {
  /** Where other control planes reach it, without a slash at the end. Undefined: it is not configured. */
  url: string | undefined;
}

/** Of one control plane alone: nothing is stored, and one that restarts takes the first box that comes back. */
export function createOwnRegistry(now: () => number): Registry {
  const newest = new Map<string, Omit<Grant, 'holder'>>();
  let count = 0;
  const isNewer = (grant: Grant): boolean => {
    const latest = newest.get(grant.installationId);
    return latest !== undefined && latest.name !== grant.name && latest.issuedAt >= grant.issuedAt;
  };
  return {
    async add(tunnel) {
      for (const [id, { expiresAt }] of newest) if (expiresAt <= now()) newest.delete(id);
      const issuedAt = Math.max(now(), (newest.get(tunnel.installationId)?.issuedAt ?? 0) + 1);
      newest.set(tunnel.installationId, { ...tunnel, issuedAt });
      return issuedAt;
    },
    async take(grant) {
      if (isNewer(grant)) return undefined;
      newest.set(grant.installationId, grant);
      return { grant, id: String(++count) };
    },
    leave: async () => {},
    findLost: async (held) => new Set(held.filter(({ grant }) => isNewer(grant))),
    findHolder: async () => undefined,
    beat: async () => {},
    close: async () => {},
  };
}
