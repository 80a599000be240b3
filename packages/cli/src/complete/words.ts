import type { ArgDef, ArgsDef } from 'citty';
import { readNames } from './names.ts';
import type { Outline } from './outline.ts';
import { findValues } from './values.ts';
import type { Values } from './values.ts';

/**
 * What may follow these words, the last of which is being typed. A line for each, its description behind a tab; then
 * `:files` or `:folders` where a path is meant. Asks no network.
 */
export function completeWords(words: readonly string[], { root, cwd }: { root: Outline; cwd: string }): string[] {
  const typed = words.at(-1) ?? '';
  const place = findPlace(words.slice(0, -1), root);
  if (place === undefined) return [];
  const { node, rest, isHelp } = place;
  const isItself = node !== root && node.args !== undefined && (rest.length > 0 || typed.startsWith('-'));
  if (node.verbs && !isItself)
    return toLines(typed, typed.startsWith('-') ? [] : listVerbs(node, node === root && !isHelp));
  if (isHelp) return [];
  const args = { ...node.args, ...root.args };
  return completeArgument(readTyped(args, rest), { args, completes: node.completes, typed, cwd });
}

// --- internal ---

/** Something that may stand next. */
interface Choice {
  word: string;
  /** One line; empty where there is nothing to say. */
  text: string;
}

interface Place {
  node: Outline;
  /** Behind the verb. */
  rest: readonly string[];
  isHelp: boolean;
}

/** Undefined: there is no such verb, so nothing follows. */
function findPlace(words: readonly string[], root: Outline): Place | undefined {
  const isHelp = words[0] === 'help';
  // Those of the root may stand anywhere.
  const isAnywhere = (word: string) => word.startsWith('--') && Object.hasOwn(root.args ?? {}, word.slice(2));
  const left = words.slice(isHelp ? 1 : 0).filter((word) => !isAnywhere(word));
  let node = root;
  let at = 0;
  for (; node.verbs && at < left.length; at += 1) {
    const word = left[at] ?? '';
    const next = Object.hasOwn(node.verbs, word) ? node.verbs[word] : undefined;
    if (!next && node !== root && node.args && word.startsWith('-')) break;
    if (!next) return undefined;
    node = next;
  }
  return { node, rest: left.slice(at), isHelp };
}

function listVerbs({ verbs = {} }: Outline, isRoot: boolean): Choice[] {
  const own = Object.entries(verbs).map(([word, { summary }]) => ({ word, text: summary }));
  return isRoot ? [...own, { word: 'help', text: 'Print the help of a verb.' }] : own;
}

/** What the words behind a verb leave open. */
interface Typed {
  /** The flag whose value is next. */
  flag: string | undefined;
  /** How many arguments are there. */
  count: number;
  /** Flags that are there. */
  given: Set<string>;
  /** Behind `--` stand arguments alone. */
  isClosed: boolean;
}

function readTyped(args: ArgsDef, words: readonly string[]): Typed {
  const typed: Typed = { flag: undefined, count: 0, given: new Set(), isClosed: false };
  for (const word of words) {
    if (typed.flag !== undefined) typed.flag = undefined;
    else if (typed.isClosed || !word.startsWith('-') || word === '-') typed.count += 1;
    else if (word === '--') typed.isClosed = true;
    else {
      const [, name = '', value] = /^--?([^=]*)(=[^]*)?$/.exec(word) ?? [];
      typed.given.add(name);
      if (value === undefined && takesValue(args[name])) typed.flag = name;
    }
  }
  return typed;
}

function takesValue(def: ArgDef | undefined): boolean {
  return def?.type === 'string' || def?.type === 'enum';
}

interface Verb extends Pick<Outline, 'completes'> {
  args: ArgsDef;
  typed: string;
  cwd: string;
}

function completeArgument({ flag, count, given, isClosed }: Typed, verb: Verb): string[] {
  const { args, typed } = verb;
  if (flag !== undefined) return completeValue('', typed, { flag, verb });
  const [, lead, name = '', value = ''] = /^(--([^=]+)=)([^]*)$/.exec(typed) ?? [];
  if (lead !== undefined && !isClosed)
    return takesValue(args[name]) ? completeValue(lead, value, { flag: name, verb }) : [];
  if (typed.startsWith('-') && !isClosed) return toLines(typed, listFlags(args, given));
  const positional = Object.keys(args).filter((key) => args[key]?.type === 'positional')[count];
  if (positional !== undefined) return completeValue('', typed, { flag: positional, verb });
  return isClosed ? [] : toLines(typed, listFlags(args, given));
}

/** Those that are there already are left out, unless they may have been meant to be given again. */
function listFlags(args: ArgsDef, given: Set<string>): Choice[] {
  return Object.entries(args)
    .filter(([, { type }]) => type !== 'positional')
    .map(([name, def]) => ({ def, word: isOn(def) ? `no-${name}` : name }))
    .filter(({ def, word }) => def.type === 'string' || !given.has(word))
    .map(({ def, word }) => ({ word: `--${word}`, text: def.description ?? '' }));
}

/** Of a switch that is on, only its opposite is worth typing. */
function isOn({ type, default: value }: ArgDef): boolean {
  return type === 'boolean' && value === true;
}

interface Asked {
  /** A flag, or an argument. */
  flag: string;
  verb: Verb;
}

/** `lead` is what of the word comes before its value. */
function completeValue(lead: string, typed: string, { flag, verb: { args, completes, cwd } }: Asked): string[] {
  const def = args[flag];
  if (def === undefined) return [];
  const found: Values = findValues(flag, def, { completes, names: () => readNames(cwd) });
  const listed = found.isList ? typed.slice(0, typed.lastIndexOf(',') + 1) : '';
  const taken = listed.split(',');
  const choices = found.words.filter((word) => !taken.includes(word));
  const lines = toLines(
    lead + typed,
    choices.map((word) => ({ word: lead + listed + word, text: '' })),
  );
  return found.paths === undefined ? lines : [...lines, `:${found.paths}`];
}

/** A word that would break a line or a column is not offered. */
function toLines(typed: string, choices: readonly Choice[]): string[] {
  return choices
    .filter(({ word }) => word.startsWith(typed) && !/[\p{Cc}]/u.test(word) && !word.startsWith(':'))
    .map(({ word, text }) => `${word}\t${text.replaceAll(/\s+/g, ' ').trim()}`);
}
