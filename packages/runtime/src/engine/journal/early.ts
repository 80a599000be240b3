/** A resume of a hook that there is not yet. */
export interface EarlyResume {
  earlyNo: number;
  /** The same is kept once. */
  earlyId: string;
  token: string;
  /** As codec text. */
  payload: string;
  /** The caller's key, which the resume is made with. */
  idempotencyKey: string | null;
  createdAt: number;
  until: number;
}

export type NewEarlyResume = Pick<EarlyResume, 'earlyId' | 'token' | 'payload' | 'idempotencyKey'>;

export type KeepResult =
  /** Also of one that is kept already. */
  | { outcome: 'kept'; resume: EarlyResume }
  /** So many wait for the token, or in all. */
  | { outcome: 'full' };

export interface EarlyStore {
  keep(resume: NewEarlyResume, how: { ms: number; mostOfToken: number; most: number }): Promise<KeepResult>;
  /** Of each token whose hook is open the first one; those that were tried longest ago come first. */
  listReady(limit: number): Promise<EarlyResume[]>;
  /** It comes after those that were not tried. */
  noteTried(earlyNo: number): Promise<void>;
  /** False: it is gone. */
  remove(earlyNo: number): Promise<boolean>;
  /** Oldest first; `after` is the last `earlyNo` of the page before. */
  list(filter: { token?: string }, page: { limit: number; after?: number }): Promise<EarlyResume[]>;
  /** Removes those whose time is up. Answers whether any are left. */
  forgetExpired(): Promise<boolean>;
}
