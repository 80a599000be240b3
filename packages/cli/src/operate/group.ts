import type { Group, Leaf } from '../group.ts';
import type { OperateVerb } from './form.ts';

export interface OperateGroup extends Omit<Group, 'verbs'> {
  /** What the things of the group are called by, for the examples that are made up. */
  sample?: string;
  verbs: Record<string, OperateVerb>;
}

/** A group whose verbs call operations of the box. */
export function operateGroup({ sample, verbs, ...group }: OperateGroup): Group {
  const leaves = Object.entries(verbs).map(([word, verb]) => [word, operateLeaf(verb, sample)] as const);
  return { ...group, verbs: Object.fromEntries(leaves) };
}

/** One verb that calls an operation of the box. */
export function operateLeaf(operate: OperateVerb, sample?: string): Leaf {
  return {
    summary: operate.summary,
    operate,
    load: async ({ path }) => (await import('./project.ts')).loadOperateVerb(operate, { path, sample }),
  };
}
