/** Which version of which agent or workflow. */
export interface CodeKey {
  codeHash: string;
  /** Of the agent or the workflow: a file may hold several. */
  name: string;
}

/** A version as it is kept: what it is, and which files it is made of. The files are kept once, whoever needs them. */
export interface KeptCode extends CodeKey {
  /** What the keeper wants to know of it, as text. */
  manifest: string;
  /** The digests of its files. */
  digests: readonly string[];
}

export type FoundCode = Omit<KeptCode, 'digests'>;

export interface CodeFile {
  digest: string;
  /** As text that needs no escaping. */
  body: string;
}

export interface NotedRecord {
  runId: string;
  stepId: string;
  output: string | null;
}

/** The code that runs have begun with, for processes that have other code. It is content-addressed. */
export interface CodeStore {
  /** Answers those that are kept with all their files. They are kept on for as long as those that have just been. */
  touch(codeHashes: readonly string[]): Promise<FoundCode[]>;
  /** Of these digests those there is no file of. */
  listMissing(digests: readonly string[]): Promise<string[]>;
  /** In one commit. Files that are there already are left as they are. False: one of its files is neither given nor there. */
  keep(code: KeptCode, files: readonly CodeFile[]): Promise<boolean>;
  find(key: CodeKey): Promise<FoundCode | undefined>;
  /** All that is kept, by hash and name: up to `limit` behind `after`. */
  list(options: { after: CodeKey | undefined; limit: number }): Promise<FoundCode[]>;
  /** Another manifest for the one that was found, unless it has another by now. */
  reseal(found: FoundCode, manifest: string): Promise<void>;
  readFile(digest: string): Promise<string | undefined>;
  /**
   * Runs that wait without a time for code which was not there, and whose code is among these, are due at once. `orKept`: also
   * those whose code is kept by now. Answers how many.
   */
  wake(codeHashes: readonly string[], options?: { orKept?: boolean }): Promise<number>;
  /** How many runs wait for code that is not there or does not load, by name: of `limit` of them. */
  countWaiting(limit: number): Promise<WaitingCount[]>;
  /** Of these hashes those that an open run, or a start that waits, has. */
  listOpen(codeHashes: readonly string[]): Promise<string[]>;
  /** Open runs of one name and the code they have, up to `limit` of them. */
  listOpenRuns(name: string, limit: number): Promise<OpenRun[]>;
  /** What these runs have recorded that is no call, where the id of the record begins with `prefix`. */
  listNoted(runIds: readonly string[], prefix: string): Promise<NotedRecord[]>;
  /**
   * Forgets versions that no open run, no start that waits and no living replica has, and that were kept or touched last more
   * than `idleMs` ago, and files that belong to none. Answers how many versions.
   */
  drop(options: { idleMs: number }): Promise<number>;
}

export interface WaitingCount {
  kind: string;
  name: string;
  count: number;
}

export interface OpenRun {
  runId: string;
  codeHash: string | null;
  /** It was given other code than it began with. */
  isMoved: boolean;
}
