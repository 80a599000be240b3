/** Which code the processes have that share the journal. */
export interface ReplicaStore {
  /** The replica lives for so long from now on, and has code of these hashes. */
  announce(replica: { owner: string; leaseMs: number; codes: readonly string[] }): Promise<void>;
  /** The hashes of all code that the other replicas that live have. */
  listCodesOfOthers(owner: string): Promise<string[]>;
  leave(owner: string): Promise<void>;
}
