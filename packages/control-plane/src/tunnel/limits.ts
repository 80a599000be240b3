/** What a relay takes and holds. */
export interface RelayLimits {
  /** Tunnels of this process that are open at once. */
  tunnels: number;
  /** Of them, those that one person has opened. */
  tunnelsOfPerson: number;
  /** Requests that one tunnel carries at once. */
  streams: number;
  /** Milliseconds a tunnel is good for. */
  lifetimeMs: number;
  /** Milliseconds between two looks whether the box is there. */
  beatMs: number;
  /** Milliseconds between two looks whether who opened the tunnels still may. */
  checkMs: number;
  /** Bytes of one answer that wait for whoever reads slowly. */
  window: number;
  /** Bytes on their way in one tunnel. */
  sessionWindow: number;
  /** Megabytes that Node's HTTP/2 holds for one tunnel. */
  memoryMb: number;
  /** Bytes of one frame of a WebSocket. */
  frame: number;
}

export const RELAY_LIMITS: RelayLimits = {
  tunnels: 500,
  tunnelsOfPerson: 20,
  streams: 100,
  lifetimeMs: 8 * 3_600_000,
  beatMs: 10_000,
  checkMs: 1_000,
  window: 128 * 1_024,
  sessionWindow: 4 * 1_024 * 1_024,
  memoryMb: 32,
  frame: 1_024 * 1_024,
};

/** With what a WebSocket is closed that is not to be opened again. */
export const CLOSED = { expired: 4000, replaced: 4001, ended: 4002, revoked: 4003 } as const;
