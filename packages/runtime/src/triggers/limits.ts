import { BoxError } from '../errors.ts';

/** What senders and deliveries are held to. */
export interface TriggerLimits {
  /** Of one request. */
  bodyBytes: number;
  /** Requests of one trigger in a minute, over all replicas. */
  perMinute: number;
  /** Requests of one address in a minute whose signature is wrong, before it has to wait (429). */
  wrongPerMinute: number;
  /** Deliveries of one trigger that wait; what comes then is refused. */
  mostPending: number;
  /** How often a delivery is tried before it is a dead letter. */
  tries: number;
  firstRetryMs: number;
  longestRetryMs: number;
  /** After how long a delivery is tried again whose run cannot begin yet, which counts as no try. */
  busyMs: number;
  /** For how long it is tried so. */
  busyForMs: number;
  /** For how long one process has a delivery before another takes it. */
  leaseMs: number;
  /** Between two looks for deliveries and polls that another replica has left behind; up to six times as long while there are none. */
  lookMs: number;
  /** Of the answer to a poll: its bytes, and the items in it. */
  pollBytes: number;
  pollItems: number;
  /** How many items of a trigger are known again; those of the last answer always are. */
  pollSeen: number;
  /** How long a poll may take. Shorter than its lease. */
  pollTimeoutMs: number;
  /** For how long one process asks before another does. */
  pollLeaseMs: number;
  /** After how long it is asked again when it has failed: the first time, and at most. */
  pollRetryMs: number;
  longestPollRetryMs: number;
  /** Of deliveries that are over: so many of a trigger, of so many bytes, of such an age. */
  keptCount: number;
  keptBytes: number;
  keptMs: number;
}

export const TRIGGER_LIMITS: TriggerLimits = {
  bodyBytes: 1_048_576,
  perMinute: 600,
  wrongPerMinute: 60,
  mostPending: 1_000,
  tries: 8,
  firstRetryMs: 2_000,
  longestRetryMs: 600_000,
  busyMs: 3_000,
  busyForMs: 3_600_000,
  leaseMs: 60_000,
  lookMs: 5_000,
  pollBytes: 2_097_152,
  pollItems: 1_000,
  pollSeen: 10_000,
  pollTimeoutMs: 30_000,
  pollLeaseMs: 90_000,
  pollRetryMs: 60_000,
  longestPollRetryMs: 3_600_000,
  keptCount: 500,
  keptBytes: 67_108_864,
  keptMs: 14 * 24 * 3_600_000,
};

export function queueFull({ mostPending }: Pick<TriggerLimits, 'mostPending'>): BoxError {
  return new BoxError(
    'trigger_queue_full',
    `${mostPending} deliveries of this trigger wait for their runs. Send it again later.`,
  );
}
