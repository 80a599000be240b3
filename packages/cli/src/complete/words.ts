import type { RootCommand } from '@bomb.sh/tab';
import type { ArgDef } from 'citty';
import { isGroup, TREE } from '../tree.ts';
import type { Group, Leaf } from '../tree.ts';
import type { Context } from '../verb.ts';
import { captureLines } from './capture.ts';
import { readNames } from './names.ts';
import type { Names } from './names.ts';

/** What may follow these words, in the lines a completion script reads. Asks no network. */
export async function completeWords(words: readonly string[], context: Pick<Context, 'cwd'>): Promise<string[]> {
  const { RootCommand } = await import('@bomb.sh/tab');
  const root = new RootCommand();
  const names = readNames(context.cwd);
  for (const { path, node } of listNodes(TREE, [])) {
    const command = root.command(path.join(' '), node.summary);
    // Only of the verb that is typed: each brings what it is made of.
    if (!isGroup(node) && path.every((word, at) => words[at] === word))
      await addFlags(command, { leaf: node, path: path.join(' '), names });
  }
  return captureLines(() => root.parse([...words]));
}

// --- internal ---

function listNodes(group: Group, words: string[]): { path: string[]; node: Leaf | Group }[] {
  return Object.entries(group.verbs).flatMap(([word, node]) => {
    const path = [...words, word];
    return [{ path, node }, ...(isGroup(node) ? listNodes(node, path) : [])];
  });
}

interface Typed {
  leaf: Leaf;
  path: string;
  names: Names;
}

async function addFlags(command: ReturnType<RootCommand['command']>, { leaf, path, names }: Typed): Promise<void> {
  const { args } = await leaf.load();
  for (const [name, def] of Object.entries(args)) {
    const values = listValues(name, def, { path, names });
    const offer = (take: (value: string, description: string) => void) => {
      for (const value of values) take(value, '');
    };
    if (def.type === 'positional') command.argument(name, offer);
    else if (def.type === 'boolean') command.option(name, def.description ?? '');
    else command.option(name, def.description ?? '', offer);
  }
  for (const [name, description] of Object.entries(GLOBAL)) command.option(name, description);
}

const GLOBAL = {
  json: 'Print one JSON document.',
  verbose: 'Print requests and raw logs on stderr.',
  'no-color': 'Print without colour.',
  help: 'Print the help of the verb.',
};

/** The values that can be known here: those of a list, and the names of what the workspace has. */
function listValues(name: string, def: ArgDef, { path, names }: Omit<Typed, 'leaf'>): readonly string[] {
  if (def.type === 'enum') return def.options ?? [];
  if (path === 'complete') return ['bash', 'zsh', 'fish'];
  const isWorkflow = name === 'workflow' || name === 'workflows' || (path.startsWith('workflows ') && name === 'name');
  if (isWorkflow) return names.workflows;
  if (name === 'agent-name' || name === 'agents' || name === 'calls') return names.agents;
  const isBoth = name === 'owner-name' || (name === 'name' && /^(runs|logs) /.test(path));
  return isBoth ? [...names.agents, ...names.workflows] : [];
}
