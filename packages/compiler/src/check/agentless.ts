import type { Agentless } from '../agent-places.ts';
import type { Scan } from '../scan.ts';
import type { FoundIn } from './frame.ts';

/** Folders no agent is found in, though one seems meant. One that only holds what others import is none of them. */
export function checkAgentless({ agentless, files }: Scan): FoundIn[] {
  return agentless.flatMap((place) => {
    const isImported = Object.keys(files).some((file) => file === place.path || file.startsWith(`${place.path}/`));
    if (!isImported) return [toFound(place)];
    // Said of the missing file: a problem of a module is one of whatever imports it, which works.
    return place.hasTexts ? [{ ...toFound(place), file: entryOf(place) }] : [];
  });
}

// --- internal ---

const TOP = { line: 1, column: 1 };

function toFound(place: Agentless): FoundIn {
  const { path, name } = place;
  const entry = entryOf(place);
  const at = (file: string, message: string): FoundIn => ({ code: 'agent_entry_missing', message, file, ...TOP });
  if (place.kind === 'module')
    return at(path, `An agent has a folder of its own, so this file is not read. Move it to "${entry}".`);
  if (place.kind === 'elsewhere') {
    const message = `Agents are read from "deep-agents" alone, so "${name}" is not served. Move the folder to "deep-agents/${name}".`;
    return at(`${path}/index.ts`, message);
  }
  const nested = place.modules.find((module) => module.includes('/'));
  if (nested) {
    const [below = ''] = nested.split('/');
    const message = `"${path}" has no index.ts, and folders below it are not read. Move "${path}/${below}" to "deep-agents/${below}".`;
    return at(`${path}/${nested}`, message);
  }
  const module = findMeant(place);
  if (module) {
    const message = `The agent "${name}" has no index.ts, so it is not served. Rename "${module}" to "index.ts".`;
    return at(`${path}/${module}`, message);
  }
  const message = `The folder "${path}" has no index.ts, so there is no agent "${name}". Write "${entry}" with "export default defineDeepAgent({ name: '${name}' })", or move the folder elsewhere.`;
  return at(entry, message);
}

function entryOf({ name }: Agentless): string {
  return `deep-agents/${name}/index.ts`;
}

/** The module that seems to be the agent: by its name, or because there is no other. */
function findMeant({ name, modules }: Agentless): string | undefined {
  const stems = ['index', 'agent', name];
  const named = stems.flatMap((stem) => modules.filter((module) => module.replace(/\.\w+$/, '') === stem));
  return named[0] ?? (modules.length === 1 ? modules[0] : undefined);
}
