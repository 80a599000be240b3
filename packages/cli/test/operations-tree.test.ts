import { OPERATIONS } from '@svc/runtime/host';
import { describe, expect, it } from 'vitest';
import { listMembers, loadSpec } from '../src/operations/spec.ts';
import { findVerb, isGroup, listLeaves } from '../src/group.ts';
import { TREE } from '../src/tree.ts';

const PROJECTED = listLeaves(TREE).flatMap(({ path, leaf: { operation } }) =>
  operation ? [{ path, ...operation }] : [],
);

/** The verbs a registry entry names; `--run` of one that answers another operation is no word of it. */
function verbsOf(cli: string): string[] {
  return cli.split('|').map((verb) => verb.replace(/\s--.*$/, '').trim());
}

describe('the tree and the registry', () => {
  it('name the same verbs', () => {
    const named = OPERATIONS.flatMap((op) => (op.cli === undefined ? [] : verbsOf(op.cli)));
    const missing = named.filter((verb) => {
      const { node, path } = findVerb(TREE, verb.split(' '));
      return (isGroup(node) && !node.itself) || path !== verb;
    });
    expect(missing).toEqual([]);
    // `hitl reject` is the other half of one operation, which names its first verb.
    const unnamed = PROJECTED.filter(({ path }) => !named.includes(path)).map(({ path }) => path);
    expect(unnamed.filter((path) => path !== 'hitl reject')).toEqual([]);
  });

  it('mean the same operation by a verb', () => {
    const wrong = PROJECTED.filter(({ path, operation }) => {
      const op = OPERATIONS.find(({ id }) => id === operation);
      return !verbsOf(op?.cli ?? '').includes(path) && path !== 'hitl reject';
    });
    expect(wrong).toEqual([]);
  });

  it('has columns for the members of the items of a list, and for no others', async () => {
    for (const { path, operation, columns = [] } of PROJECTED) {
      const { output } = await loadSpec(operation);
      const members = Object.keys(listMembers(output.properties?.items?.items ?? {}));
      const read = columns
        .map((column) => /^(?:\w+=)?(\w+)/.exec(column)?.[1] ?? '')
        .filter((name) => !MADE.includes(name));
      expect([path, read.filter((name) => !members.includes(name))]).toEqual([path, []]);
    }
  });

  it('no answer has a member that the document has too, unless it is wrapped', async () => {
    for (const { path, operation, wrap } of PROJECTED) {
      const { output } = await loadSpec(operation);
      const clash = ['error', 'schema_version'].filter((name) => Object.hasOwn(output.properties ?? {}, name));
      expect([path, wrap === undefined ? clash : []]).toEqual([path, []]);
    }
  });
});

// --- internal ---

/** Columns that are no member: how long a run took is made of two. */
const MADE = ['duration'];
