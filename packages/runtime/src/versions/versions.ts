import type { AgentDefinition, Catalog, CodeVersion, WorkflowDefinition } from '../catalog/catalog.ts';
import { splitName } from '../definitions/subagents.ts';
import { CodeNotKeptError } from '../engine/errors.ts';
import type { CodeKey, CodeStore } from '../engine/journal/code.ts';
import type { RunRow } from '../engine/journal/run.ts';
import type { CodeRegistry } from '../engine/values/registry.ts';
import type { Log } from '../log.ts';
import { COPILOT_AGENT } from '../manifest.ts';
import type { MasterKey } from '../secrets/seal.ts';
import { createKeeper } from './keeper.ts';
import { createLoader } from './loader.ts';
import type { Loader, PlacedVersion } from './loader.ts';
import { createRefusals } from './refusals.ts';
import { createWaking } from './waking.ts';

/** A run whose code is looked for. `codeHash`: what it began with. */
export type VersionedRun = Pick<RunRow, 'name'> & { codeHash?: string | null | undefined };

export type Pinned<Definition> = Definition & { registry: CodeRegistry };

/**
 * The code that runs have begun with. What this process has is kept in the journal, and a run whose code is another than what
 * it has is given its own from there.
 */
export interface Versions {
  /**
   * Undefined: its code is what the workflow is now, or the run has none recorded. Throws a `CodeNotKeptError` where it is kept
   * nowhere, or is not what this box has kept, and why what is kept does not load.
   */
  findWorkflow(run: VersionedRun): Promise<Pinned<WorkflowDefinition> | undefined>;
  /** The same of the agent of a turn, or of a sub-agent's. */
  findAgent(run: VersionedRun): Promise<Pinned<AgentDefinition> | undefined>;
  /** True: this code is kept, and was by a box with this key. Nothing of it is read but what it is. */
  holds(code: CodeKey): Promise<boolean>;
  /** The program has changed: its code is kept before a run can begin with it. */
  loaded(): Promise<void>;
  /** Called about once a second. Returns at once, and never throws. */
  sweep(): void;
  close(): Promise<void>;
}

export interface VersionsOptions {
  catalog: Catalog;
  store: CodeStore;
  key: MasterKey;
  /** The key before it: what was kept under that one is sealed again. */
  previousKey?: MasterKey | undefined;
  log: Log;
  /**
   * `all`: whatever is served is kept from the beginning. `open`: what open runs have, as it is compiled for that. `none`: another
   * process does it.
   */
  keeps: 'all' | 'open' | 'none';
  /** Whatever a run began with, it goes on by the newest code. Default: false. */
  isNewestForAll?: boolean;
}

export function createVersions(options: VersionsOptions): Versions {
  const { catalog, store, key, previousKey, log, keeps, isNewestForAll = false } = options;
  const keeper = createKeeper({ store, key, log });
  const refusals = createRefusals(log);
  const loader = createLoader({ store, key, previousKey, onRefused: refusals.note });
  /** Of code that is kept as open runs need it: what is, as last seen. */
  const seen = new Set<string>();
  let served: CodeVersion[] = [];
  /** What was served until an edit, and has not been looked at since. */
  let retired: CodeVersion[] = [];
  let keeping: Promise<void> = Promise.resolve();

  const keepOpenNow = async (): Promise<void> => {
    const looked = [...retired, ...catalog.versions()];
    const versions = looked.filter(({ codeHash }) => !seen.has(codeHash));
    const open = new Set(await store.listOpen([...new Set(versions.map(({ codeHash }) => codeHash))]));
    await keeper.keep(versions.filter(({ codeHash }) => open.has(codeHash)));
    for (const codeHash of open) seen.add(codeHash);
    retired = retired.filter((version) => !looked.includes(version));
  };
  /** One after the other: each compiles. */
  const keepOpen = (): Promise<void> => {
    const next = keeping.then(keepOpenNow);
    keeping = next.catch(() => {});
    return next;
  };

  const notKept = createNotKept(catalog, refusals.whyOf);
  const define = createDefine({ catalog, log });
  /** It was edited a moment ago, and no sweep has come since. */
  const keepRetired = async ({ codeHash }: CodeKey): Promise<void> => {
    if (retired.some((version) => version.codeHash === codeHash)) await keepOpen();
  };
  const find = createFinder({ loader, isRefused: refusals.has, define }, keepRetired);

  const waking = createWaking({ store, log, codes: catalog.codeHashes, reopened: () => refusals.reopened(loader) });
  let isKept = false;
  let isSweeping = false;
  let sweptAt = -Infinity;
  let housekeptAt = performance.now();
  const keep = async (): Promise<void> => {
    if (keeps !== 'all') return keepOpen();
    if (previousKey) await keeper.reseal(previousKey);
    await keeper.keep(catalog.versions());
  };
  const warn = (error: unknown): void =>
    log.warn('Code cannot be kept for the runs that begin with it; the next sweep tries again.', { error });
  const housekeep = async (): Promise<void> => {
    seen.clear();
    // What cannot be kept is served all the same.
    await keep().finally(waking.again);
    await store.drop({ idleMs: IDLE_MS });
  };
  return {
    async findWorkflow({ name, codeHash }) {
      if (isNewestForAll || codeHash == null || catalog.findWorkflow(name)?.definition?.codeHash === codeHash)
        return undefined;
      const found = await find({ codeHash, name });
      if (found && 'run' in found) return found;
      throw notKept({ codeHash, name });
    },
    async findAgent(run) {
      const { agent: name } = splitName(run.name);
      const { codeHash } = run;
      if (isNewestForAll || codeHash == null || catalog.findAgent(name)?.definition?.codeHash === codeHash)
        return undefined;
      // It is a part of the runtime, which is taken from the process.
      if (name === COPILOT_AGENT) return undefined;
      const found = await find({ codeHash, name });
      if (found && 'agent' in found) return found;
      throw notKept({ codeHash, name });
    },
    async holds(code) {
      await keepRetired(code);
      return !refusals.has(code) && loader.holds(code);
    },
    async loaded() {
      if (keeps === 'open') {
        const now = catalog.versions();
        const gone = served.filter(({ codeHash }) => !now.some((version) => version.codeHash === codeHash));
        retired = [...retired, ...gone].slice(-MOST_RETIRED);
        served = now;
      }
      waking.loaded();
      isKept = keeps !== 'all';
      if (!isKept) await keep().then(() => (isKept = true), warn);
    },
    sweep() {
      if (keeps !== 'none') waking.sweep({ isKept });
      const now = performance.now();
      const isHousekeeping = now - housekeptAt > HOUSEKEEPING_MS;
      const isDue = isHousekeeping || !isKept || (keeps === 'open' && now - sweptAt > OPEN_MS);
      if (keeps === 'none' || isSweeping || !isDue) return;
      isSweeping = true;
      sweptAt = now;
      if (isHousekeeping) housekeptAt = now;
      void (isHousekeeping ? housekeep() : keep())
        .then(() => (isKept = true), warn)
        .finally(() => (isSweeping = false));
    },
    async close() {
      if (keeps === 'open') await keepOpen().catch(() => {}); // the journal may be gone by then
      await loader.close();
    },
  };
}

// --- internal ---

type AnyPinned = Pinned<AgentDefinition | WorkflowDefinition>;

function createDefine({ catalog, log }: Pick<VersionsOptions, 'catalog' | 'log'>): FinderParts['define'] {
  return async (placed, { codeHash }) => {
    const { manifest, exports, registry } = await placed.load();
    const module = { exports, hash: codeHash };
    const definition =
      manifest.kind === 'agent'
        ? catalog.defineAgent(manifest.entry, module)
        : catalog.defineWorkflow(manifest.entry, module);
    log.info('An earlier version of code is loaded for the runs that began with it.', {
      name: manifest.entry.name,
      codeHash,
    });
    return { ...definition, codeHash, registry };
  };
}

interface FinderParts {
  loader: Pick<Loader, 'find'>;
  isRefused(code: CodeKey): boolean;
  define(placed: PlacedVersion, code: CodeKey): Promise<AnyPinned>;
}

/** Runs of one version that are taken together have it read once: its files are in memory meanwhile. `prepare`: before it is read. */
function createFinder(
  { loader, isRefused, define }: FinderParts,
  prepare: (code: CodeKey) => Promise<void>,
): (code: CodeKey) => Promise<AnyPinned | undefined> {
  const loaded = new Map<string, Promise<AnyPinned>>();
  const finding = new Map<string, Promise<AnyPinned | undefined>>();
  const findNow = async (id: string, code: CodeKey): Promise<AnyPinned | undefined> => {
    await prepare(code);
    const found = await loader.find(code);
    // What fails up to here is not remembered. A module that has been evaluated stays: each is loaded once.
    const placed = await found?.place();
    if (!placed) return undefined;
    const definition = define(placed, code);
    loaded.set(id, definition);
    return definition;
  };
  return async (code) => {
    const id = `${code.codeHash} ${code.name}`;
    const known = loaded.get(id) ?? finding.get(id);
    if (known) return known;
    if (isRefused(code)) return undefined;
    const found = findNow(id, code).finally(() => finding.delete(id));
    finding.set(id, found);
    return found;
  };
}

function createNotKept(
  { findWorkflow, findAgent }: Pick<Catalog, 'findWorkflow' | 'findAgent'>,
  whyRefused: (code: CodeKey) => string | undefined,
): (code: CodeKey) => CodeNotKeptError {
  return ({ codeHash, name }) => {
    const refused = whyRefused({ codeHash, name });
    const why = refused === undefined ? 'is in no build that is up, and is not kept' : `is not executed: ${refused}`;
    const problem = (findWorkflow(name) ?? findAgent(name))?.problem;
    const also = problem
      ? ` What this build has does not load: ${problem.file}:${problem.line}: ${problem.message}`
      : '';
    return new CodeNotKeptError(`The code this run began with (${codeHash.slice(0, 12)}) ${why}.${also}`);
  };
}

/** Between two looks for what no one needs any more; what is served is touched then. Well below the time it is kept unasked. */
const HOUSEKEEPING_MS = 2 * 60_000;
const IDLE_MS = 10 * 60_000;

/** Between two looks for open runs whose code is not kept. */
const OPEN_MS = 900;

/** Versions that edits have replaced between two sweeps. */
const MOST_RETIRED = 100;
