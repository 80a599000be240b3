import type { ArgDef, ArgsDef } from 'citty';
import { GLOBAL_FLAGS } from '../help.ts';
import { isGroup, TREE } from '../tree.ts';
import type { Group, Leaf } from '../tree.ts';

/** As much of a verb or a group as it takes to complete a command line. */
export interface Outline {
  summary: string;
  verbs?: Record<string, Outline>;
  /** Of the root: those that may stand anywhere. */
  args?: ArgsDef;
}

/** All of the command line. It loads every verb: what is built has the answer in a file. */
export async function readOutline(): Promise<Outline> {
  return { ...(await toOutline(TREE)), args: pickShown(GLOBAL_FLAGS) };
}

// --- internal ---

async function toOutline(node: Leaf | Group): Promise<Outline> {
  const { summary } = node;
  if (!isGroup(node)) return { summary, args: pickShown((await node.load()).args) };
  const verbs = Object.entries(node.verbs).map(async ([word, own]) => [word, await toOutline(own)] as const);
  return { summary, verbs: Object.fromEntries(await Promise.all(verbs)) };
}

function pickShown(args: ArgsDef): ArgsDef {
  const pick = ([name, def]: [string, ArgDef]): [string, ArgDef] => {
    const { type, description, default: value, options, valueHint } = def as Extract<ArgDef, { type: 'enum' }>;
    return [name, { type, description, default: value, options, valueHint } as ArgDef];
  };
  return Object.fromEntries(Object.entries<ArgDef>(args).map(pick));
}
