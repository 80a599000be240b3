import { usageError } from './errors.ts';
import { findNearest } from './nearest.ts';
import type { OperationVerb } from './operations/form.ts';
import type { Verb } from './verb.ts';

/** Where a verb is. */
export interface Place {
  /** The words that lead to it, without `svc`. */
  path: string;
  /** The whole command line, which completion walks. */
  root: Group;
}

/** A verb as a group holds it. It is imported when it runs: `svc --help` and one verb never pay for the others. */
export interface Leaf {
  summary: string;
  /** The page of the guide about it, of a verb that stands in no group. */
  page?: string;
  /** What it is made of, of a verb that calls an operation of the box. */
  operation?: OperationVerb;
  load(place: Place): Promise<Verb>;
}

/** Verbs under a common word: all that help, completion and the reference say of them comes from here. */
export interface Group {
  summary: string;
  /** The page of the guide about its verbs. */
  page?: string;
  /** Two commands that work as written. Help leads with them. */
  examples: readonly [string, string];
  verbs: Record<string, Leaf | Group>;
  /** What the common word does when none of them follows. */
  itself?: Leaf;
  /** What the word of its own is called that the common word takes: one that is no verb is that. */
  takes?: string;
}

export interface Found extends Place {
  node: Leaf | Group;
  /** What follows the words. */
  rest: string[];
}

/** Walks the words of the command line to a verb, or to a group when they end there. Throws on a word that is neither. */
export function findVerb(root: Group, args: readonly string[]): Found {
  const words: string[] = [];
  let node: Leaf | Group = root;
  while (isGroup(node)) {
    const word: string | undefined = args[words.length];
    if (word === undefined || (node.itself && word.startsWith('-'))) break;
    if (word.startsWith('-'))
      throw usageError(`"${word}" is before the verb.`, 'Put flags after the verb: svc workflows list --agent <id>.');
    const next: Leaf | Group | undefined = Object.hasOwn(node.verbs, word) ? node.verbs[word] : undefined;
    if (!next && node.itself && node.takes !== undefined) break;
    if (!next) throw unknownVerb(node, words, args.slice(words.length));
    node = next;
    words.push(word);
  }
  return { path: words.join(' '), root, node, rest: args.slice(words.length) };
}

export function isGroup(node: Leaf | Group): node is Group {
  return 'verbs' in node;
}

/** Every verb of a group and of its groups, in their order. `path` is that of the group. */
export function listLeaves(group: Group, path = ''): { path: string; leaf: Leaf }[] {
  const below = Object.entries(group.verbs).flatMap(([word, node]) => {
    const words = [path, word].filter(Boolean).join(' ');
    return isGroup(node) ? listLeaves(node, words) : [{ path: words, leaf: node }];
  });
  return group.itself ? [{ path, leaf: group.itself }, ...below] : below;
}

/** The verb that words lead to. Undefined: a group that does nothing by itself. */
export function toLeaf(node: Leaf | Group): Leaf | undefined {
  return isGroup(node) ? node.itself : node;
}

// --- internal ---

/** What some call a group elsewhere. */
const OTHER_WORDS: Record<string, string | undefined> = {
  approvals: 'hitl',
  agents: 'catalog',
  models: 'provider',
  'model-provider': 'provider',
  schedules: 'jobs',
  evals: 'eval',
  threads: 'sessions',
  database: 'db',
  sql: 'db',
};

/** What boxes have, no verb is for, and where it is instead. */
const WITHOUT_VERB = new Map([
  ['connections', 'They are in the dashboard, and in docs/guide/connections.md.'],
  ['browser', 'It is in the dashboard, and in docs/guide/browser.md.'],
]);

function unknownVerb(group: Group, words: string[], typed: readonly string[]) {
  const [word = '', next = ''] = typed;
  const elsewhere = words.length === 0 ? WITHOUT_VERB.get(word) : undefined;
  if (elsewhere !== undefined) return usageError(`"svc ${word}" has no verb.`, elsewhere);
  const other = OTHER_WORDS[word];
  const near = other !== undefined && other in group.verbs ? other : findNearest(word, Object.keys(group.verbs));
  // A word that names no group may be the last word of a verb: `svc start` is `svc workflows start`.
  const meant = near
    ? [...words, near].join(' ')
    : listLeaves(group, words.join(' ')).find(({ path }) => path.endsWith(` ${word}`))?.path;
  const problem = `There is no verb "${[...words, word].join(' ')}".`;
  if (!meant) return usageError(problem, `Run \`${['svc', ...words, '--help'].join(' ')}\` to see the verbs.`);
  const node = near ? group.verbs[near] : undefined;
  const whole = node && isGroup(node) && Object.hasOwn(node.verbs, next) ? `${meant} ${next}` : meant;
  const isOpen = node !== undefined && isGroup(node) && whole === meant;
  return usageError(
    `${problem} Did you mean "${whole}"?`,
    isOpen ? `Run \`svc ${whole} --help\` to see its verbs.` : `Run \`svc ${whole}\`.`,
  );
}
