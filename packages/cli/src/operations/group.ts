import type { Group, Leaf } from '../group.ts';
import type { OperationVerb } from './form.ts';

export interface OperationGroup extends Omit<Group, 'verbs'> {
  /** What the things of the group are called by, for the examples that are made up. */
  sample?: string;
  verbs: Record<string, OperationVerb>;
}

/** A group whose verbs call operations of the box. */
export function operationGroup({ sample, verbs, ...group }: OperationGroup): Group {
  const leaves = Object.entries(verbs).map(([word, verb]) => [word, operationLeaf(verb, sample)] as const);
  return { ...group, verbs: Object.fromEntries(leaves) };
}

/** One verb that calls an operation of the box. */
export function operationLeaf(operation: OperationVerb, sample?: string): Leaf {
  return {
    summary: operation.summary,
    operation,
    load: async ({ path }) => (await import('./project.ts')).loadOperationVerb(operation, { path, sample }),
  };
}
