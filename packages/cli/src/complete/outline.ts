import type { ArgDef, ArgsDef } from 'citty';
import { GLOBAL_FLAGS } from '../global-flags.ts';
import { isGroup } from '../group.ts';
import type { Group, Leaf, Place } from '../group.ts';
import type { Completion } from '../verb.ts';

/** As much of a verb or a group as it takes to complete a command line. */
export interface Outline {
  summary: string;
  verbs?: Record<string, Outline>;
  /** Of the root: those that may stand anywhere. Of a group: those of what its word does by itself. */
  args?: ArgsDef;
  /** What the verb says of its flags and arguments. */
  completes?: Record<string, Completion>;
}

/** All of the command line. It loads every verb: what is built has the answer in a file. */
export async function readOutline(root: Group): Promise<Outline> {
  return { ...(await toOutline(root, { path: '', root })), args: pickShown(GLOBAL_FLAGS) };
}

// --- internal ---

async function toOutline(node: Leaf | Group, { path, root }: Place): Promise<Outline> {
  const { summary } = node;
  if (!isGroup(node)) {
    const { args, completes } = await node.load({ path, root });
    return { summary, args: pickShown(args), ...(completes ? { completes } : {}) };
  }
  const verbs = Object.entries(node.verbs).map(async ([word, own]) => {
    const place = { path: [path, word].filter(Boolean).join(' '), root };
    return [word, await toOutline(own, place)] as const;
  });
  const own = node.itself ? await toOutline(node.itself, { path, root }) : {};
  return { ...own, summary, verbs: Object.fromEntries(await Promise.all(verbs)) };
}

function pickShown(args: ArgsDef): ArgsDef {
  const pick = ([name, def]: [string, ArgDef]): [string, ArgDef] => {
    const { type, description, default: value, options, valueHint } = def as Extract<ArgDef, { type: 'enum' }>;
    return [name, { type, description, default: value, options, valueHint } as ArgDef];
  };
  return Object.fromEntries(Object.entries<ArgDef>(args).map(pick));
}
