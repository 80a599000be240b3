/** What is noted for those outside, in the commit that made it so. */
export const NOTICE_TOPICS = ['run.failed', 'run.blocked', 'run.waiting_for_code', 'approval.asked'] as const;
export type NoticeTopic = (typeof NOTICE_TOPICS)[number];

export interface Notice {
  noticeNo: number;
  topic: NoticeTopic;
  runId: string;
  /** Of a run its epoch, of an approval its token: with topic and run it is unique. */
  mark: string;
  at: number;
}

export interface NewDelivery {
  /** The same notice makes the same delivery to a receiver. */
  deliveryId: string;
  receiver: string;
  type: string;
  runId: string;
  body: string;
}

export type DeliveryState = 'pending' | 'delivered' | 'failed';

/** A message to one receiver. */
export interface Delivery extends NewDelivery {
  deliveryNo: number;
  state: DeliveryState;
  attempts: number;
  /** Null: it is over. */
  nextAt: number | null;
  createdAt: number;
  lastAt: number | null;
  lastError: string | null;
}

/** A receiver whose last delivery failed. */
export interface FailingReceiver {
  receiver: string;
  /** In a row, of whichever deliveries. */
  failures: number;
  since: number;
  /** Until then it is sent nothing. */
  pausedUntil: number | null;
  lastError: string;
}

/** The outcome of an attempt. `nextAt`: when the next one is due, while it is `pending`. */
export interface Attempted {
  state: DeliveryState;
  nextAt: number | null;
  error: string | null;
}

/**
 * What others are to be notified of, and what was sent. A run that fails, is blocked or waits for its code and an approval that is
 * asked for leave a notice in their own commit, while their topic is listened to. Failures below another run leave none, and a run
 * that waits for its code leaves one, until it has waited for something else.
 */
export interface NoticeStore {
  /** From here on these are noted, and no others. None: what was noted is forgotten. */
  listen(topics: readonly NoticeTopic[]): Promise<void>;
  /** Whether there are notices, and when a delivery is due next, by the store's clock. */
  look(): Promise<{ now: number; hasNotices: boolean; nextAt: number | null }>;
  /** Oldest first. */
  listNotices(limit: number): Promise<Notice[]>;
  /** Forgets the notices and makes the deliveries, due at once, in one commit. One that there is stays as it is. */
  deliver(notices: readonly Notice[], deliveries: readonly NewDelivery[]): Promise<void>;
  /** Takes those that are due, earliest first, for so long: until then, or `settle`, no other process gets them. Counts an attempt. */
  takeDue(receiver: string, limit: number, holdMs: number): Promise<Delivery[]>;
  /** False: another attempt has been begun meanwhile, so the outcome of this one is not kept, unless it was delivered. */
  settle(delivery: Pick<Delivery, 'deliveryNo' | 'attempts'>, attempted: Attempted): Promise<boolean>;
  /** Gives back one that was taken: it is due at once, and the attempt does not count. */
  release(delivery: Pick<Delivery, 'deliveryNo' | 'attempts'>): Promise<void>;
  /** One that is over is due once more, with all its attempts. Undefined: there is none. */
  redeliver(deliveryId: string): Promise<Delivery | undefined>;
  listFailing(): Promise<FailingReceiver[]>;
  /** One more failure in a row. */
  noteFailure(receiver: string, error: string, pausedUntil: number | null): Promise<void>;
  noteSuccess(receiver: string): Promise<void>;
  /** By receiver, those that are not over. */
  countPending(): Promise<{ receiver: string; count: number }[]>;
  find(deliveryId: string): Promise<Delivery | undefined>;
  /** Newest first; `before` is the last `deliveryNo` of the page before. */
  list(
    filter: { receiver?: string; state?: DeliveryState; runId?: string },
    page: { limit: number; before?: number },
  ): Promise<Delivery[]>;
  /** Removes deliveries that were made before then. */
  forgetBefore(at: number): Promise<void>;
}
