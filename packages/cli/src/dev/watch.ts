import type { Plugin, RunnableDevEnvironment } from 'vite';
import { watchFolder } from './folder-watch.ts';
import type { FolderWatch } from './folder-watch.ts';

export interface Edit {
  file: string;
  /** The modules it is about, as the module runner knows them. */
  modules: string[];
}

export interface WatchOptions {
  /** The Vite environment that runs the workspace. */
  environment: string;
  /** A line for the person at the terminal. */
  say(line: string): void;
}

/** Is handed every edit since its last call was done, one call at a time. It never rejects. */
export type OnEdits = (edits: Edit[]) => Promise<void>;

export interface Watch {
  plugin: Plugin;
  /** Begins to hand out edits, those that came before included. */
  start(onEdits: OnEdits): void;
  /** Whether edits came since the call that is under way, or was last. */
  isBehind(): boolean;
  /** Stops watching; resolves when no call is under way. */
  close(): Promise<void>;
}

/**
 * Hands Vite what changes on disk, in place of its own watcher, and answers the edit event Vite makes of it: its module
 * graph is up to date then.
 */
export function createWatch({ environment, say }: WatchOptions): Watch {
  let waiting: Edit[] = [];
  let calling: Promise<void> | undefined;
  let folders: FolderWatch | undefined;
  let onEdits: OnEdits | undefined;
  const handOut = (): void => {
    if (calling || !onEdits || waiting.length === 0) return;
    const edits = waiting;
    waiting = [];
    calling = onEdits(edits).finally(() => {
      calling = undefined;
      handOut();
    });
  };
  const plugin: Plugin = {
    name: 'svc:watch',
    configureServer({ config, watcher }) {
      const files = watchFolder({
        root: config.root,
        onEvent: (event, file) => watcher.emit(event, file),
        onBlind: (folder, reason) => say(`Edits in "${folder}" are not noticed: ${reason}`),
      });
      folders = files;
      // Vite adds what lies outside of the root, in a monorepo for example.
      watcher.add = (paths) => {
        for (const file of [paths].flat()) files.addFile(file);
        return watcher;
      };
    },
    hotUpdate({ file, modules }) {
      const isRead = SOURCE.test(file) || isAgentText(file);
      if (this.environment.name !== environment || !(isRead || modules.length > 0)) return [];
      // Vite has done this for a file that was edited, not for one that came, went, or came back.
      for (const module of modules) this.environment.moduleGraph.invalidateModule(module);
      waiting.push({ file, modules: modules.flatMap(({ id }) => id ?? []) });
      handOut();
      return [];
    },
  };
  return {
    plugin,
    start(handler) {
      onEdits = handler;
      handOut();
    },
    isBehind: () => waiting.length > 0,
    async close() {
      folders?.close();
      waiting = [];
      await calling;
    },
  };
}

/** Whether it is what the scan reads beside the code of an agent. */
export function isAgentText(file: string): boolean {
  return AGENT_TEXT.test(file);
}

/** Forgets modules and whatever imports them, so that they run again when they are imported next. */
export function forgetModules({ runner }: RunnableDevEnvironment, ids: readonly string[]): void {
  const { evaluatedModules } = runner;
  const pending = [...ids];
  const seen = new Set<string>();
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const module = evaluatedModules.getModuleById(id);
    if (!module || seen.has(id)) continue;
    seen.add(id);
    pending.push(...module.importers);
    evaluatedModules.invalidateModule(module);
  }
}

/**
 * Forgets the modules below `entry` that failed, so that each load tries them again. The runner keeps a failure; a
 * module that could not be fetched is not linked to its importers; and Vite keeps an import that led nowhere.
 */
export async function forgetFailed({ runner, moduleGraph }: RunnableDevEnvironment, entry: string): Promise<void> {
  const pending = [entry];
  const seen = new Set<string>();
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const module = runner.evaluatedModules.getModuleById(id);
    if (!module || seen.has(id)) continue;
    seen.add(id);
    pending.push(...module.imports);
    const failed = await module.promise?.then(
      () => false,
      () => true,
    );
    if (!failed) continue;
    runner.evaluatedModules.invalidateModule(module);
    const node = moduleGraph.getModuleById(id);
    if (node) moduleGraph.invalidateModule(node);
  }
}

// --- internal ---

const AGENT_TEXT = /\/deep-agents\/[^/]+\/(?:instructions|skills\/[^/]+)\.md$/;
const SOURCE = /\.(?:[mc]?[jt]sx?|json)$/;
