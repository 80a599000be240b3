import { join } from 'node:path';
import { findFile, findText, isFolder, listFolder } from './files.ts';

/** Something that is no agent and may have been meant as one: under `deep-agents/`, or under a folder people take for it. */
export interface Agentless {
  /** `module`: it defines an agent and is beside the folders. `elsewhere`: an agent in another folder. */
  kind: 'folder' | 'module' | 'elsewhere';
  path: string;
  /** The name the agent would have. */
  name: string;
  /** The modules right in the folder; when there is none, each `index.ts` one folder below. Relative to the folder. */
  modules: string[];
  /** Instructions or skills are in it: no mere helper has these. */
  hasTexts: boolean;
}

export interface AgentPlaces {
  entries: { name: string; file: string }[];
  agentless: Agentless[];
}

/** Looks for `deep-agents/<name>/index.ts`, and for what is in the place of one. */
export function listAgentPlaces(root: string): AgentPlaces {
  const places: AgentPlaces = { entries: [], agentless: [] };
  for (const entry of listFolder(join(root, FOLDER))) {
    const path = `${FOLDER}/${entry.name}`;
    const isDirectory = entry.isDirectory() || (entry.isSymbolicLink() && isFolder(join(root, path)));
    if (!isDirectory) places.agentless.push(...readModule(root, path));
    else if (findFile(join(root, path, 'index.ts')))
      places.entries.push({ name: entry.name, file: `${path}/index.ts` });
    // No agent has such a name: the folder is the author's own.
    else if (!/^[_.]|^node_modules$/.test(entry.name)) places.agentless.push(readFolder(root, path, entry.name));
  }
  places.agentless.push(...MISTAKEN.flatMap((folder) => readElsewhere(root, folder)));
  return places;
}

// --- internal ---

const FOLDER = 'deep-agents';
const MISTAKEN = ['agents', 'agent', 'deep-agent', 'src/deep-agents', 'src/agents'];
const MODULE = /(?<!\.d)\.[mc]?[jt]sx?$/;
const NOT_RUN = /\.(?:test|spec)\.\w+$/;

/** Only what defines an agent: helpers may lie beside the folders. */
function readModule(root: string, path: string): Agentless[] {
  if (!isModule(path) || !/\bdefineDeepAgent\b/.test(findText(join(root, path)) ?? '')) return [];
  const name = path.slice(FOLDER.length + 1).replace(/\.\w+$/, '');
  return [{ kind: 'module', path, name, modules: [], hasTexts: false }];
}

function readFolder(root: string, path: string, name: string): Agentless {
  const inside = listFolder(join(root, path));
  const own = inside.filter((entry) => !entry.isDirectory()).map((entry) => entry.name);
  const below = inside
    .filter((entry) => entry.isDirectory() && findFile(join(root, path, entry.name, 'index.ts')))
    .map((entry) => `${entry.name}/index.ts`);
  const modules = own.filter(isModule);
  return {
    kind: 'folder',
    path,
    name,
    modules: modules.length > 0 ? modules : below,
    hasTexts: inside.some((entry) => entry.name === 'instructions.md' || entry.name === 'skills'),
  };
}

function readElsewhere(root: string, folder: string): Agentless[] {
  return listFolder(join(root, folder)).flatMap(({ name }) => {
    const path = `${folder}/${name}`;
    if (!/\bdefineDeepAgent\b/.test(findText(join(root, path, 'index.ts')) ?? '')) return [];
    return [{ kind: 'elsewhere', path, name, modules: ['index.ts'], hasTexts: false }];
  });
}

function isModule(path: string): boolean {
  return MODULE.test(path) && !NOT_RUN.test(path);
}
