import { describeTag } from '../openapi/texts.ts';
import type { Operation } from '../operations/define.ts';

/** Finds operations by what a person or a model says it wants. */
export interface OperationSearch {
  /** Those that have enough of it, the best first; equal ones as they stand. One that is named by its id comes first. */
  find(query: string): Operation[];
}

/**
 * Words count the more the fewer operations have them, and by where they stand. What an index takes follows from the
 * operations; what a search takes from the words of the question, of which the first are read.
 */
export function createOperationSearch(operations: readonly Operation[]): OperationSearch {
  const entries = operations.map((op) => ({ op, weights: weighWords(op) }));
  const places = new Map<string, { at: number; weight: number }[]>();
  for (const [at, { weights }] of entries.entries())
    for (const [word, weight] of weights) {
      const known = places.get(word);
      if (known) known.push({ at, weight });
      else places.set(word, [{ at, weight }]);
    }
  const rarityOf = (word: string) => Math.log(1 + operations.length / (places.get(word)?.length ?? 1));

  /** What each operation has of one word of the question: of the ways to say it, the best. */
  const scoreWord = (word: string): Map<number, number> => {
    const best = new Map<number, number>();
    for (const { word: said, share } of waysToSay(word, places))
      for (const { at, weight } of places.get(said) ?? []) {
        const score = share * weight * rarityOf(said);
        if (score > (best.get(at) ?? 0)) best.set(at, score);
      }
    return best;
  };

  return {
    find(question) {
      const query = question.slice(0, LONGEST).toLowerCase();
      const scores = operations.map(() => 0);
      for (const word of new Set(wordsOf(query).filter(isTelling).map(toStem)))
        for (const [at, score] of scoreWord(word)) scores[at] = (scores[at] ?? 0) + score;
      const best = Math.max(0, ...scores);
      const named = new Set(query.split(/[^a-z_.]+/));
      return operations
        .map((op, at) => ({ op, score: named.has(op.id) ? best + 1 : (scores[at] ?? 0) }))
        .filter(({ score }) => score > 0 && score >= best * ENOUGH)
        .sort((a, b) => b.score - a.score)
        .map(({ op }) => op);
    },
  };
}

// --- internal ---

/** Characters of a question that are read. */
const LONGEST = 400;
/** Of what the best one has, what another needs to be named at all. */
const ENOUGH = 0.35;
/** What a word is worth that means the same, and one that begins with it. */
const SAME = 0.7;
const BEGINNING = 0.5;

/** A word in the name says more than one in the sentence, and that more than one about all of its tag. */
function weighWords(op: Operation): Map<string, number> {
  const weights = new Map<string, number>();
  const add = (text: string, weight: number): void => {
    for (const word of wordsOf(text.toLowerCase()).map(toStem))
      weights.set(word, Math.max(weights.get(word) ?? 0, weight));
  };
  add(`${op.id} ${op.tag}`, 1);
  add(op.summary, 0.6);
  add(describeTag(op.tag).description ?? '', 0.3);
  return weights;
}

/** The word itself, what means the same here, and, where nothing has it, what begins with it. */
function waysToSay(word: string, known: ReadonlyMap<string, unknown>): { word: string; share: number }[] {
  const ways = [{ word, share: 1 }, ...(MEANINGS.get(word) ?? []).map((same) => ({ word: same, share: SAME }))];
  if (word.length < 3 || ways.some((one) => known.has(one.word))) return ways;
  const longer = [...known.keys()].filter((one) => one.startsWith(word));
  return longer.map((one) => ({ word: one, share: BEGINNING }));
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** What the forms of one English word have in common, for the most part. */
function toStem(word: string): string {
  if (word.length <= 3) return word;
  const bare = word
    .replace(/ies$/, 'y')
    .replace(/(?<=[sxz]|ch|sh)es$|(?<=[^s])s$/, '')
    .replace(/(?<=..)(?:ing|ed)$/, '')
    .replace(/([^aeiouls])\1$/, '$1')
    .replace(/(?<=..)ll$/, 'l');
  return bare.length > 3 ? bare.replace(/e$/, '').replace(/y$/, 'i') : bare;
}

/** Words that say nothing about what is wanted. */
const PLAIN = new Set(
  `a an and answer answers are as at be been but by can could did do does for from had has have he her his how i if in into is it its
  let last may me much my of on or our out please she should so some than that the their them then there these they this
  those to us was we were what when where which will with would you your`.split(/\s+/),
);

/** Each line: words that mean the same here. The operations have some of them, people the others. */
const MEANINGS = toMeanings(`
  cancel stop abort kill end terminate halt
  delete remove erase clear purge forget drop
  retry rerun redo repeat again restart anew
  create make new add
  update change edit modify rename adjust switch turn enable disable set raise lower
  start begin launch trigger kick fire
  pause hold suspend disable
  resume continue unpause
  publish release ship live deploy
  rollback undo revert restore before
  rotate replace renew
  compare difference different diff worse better regress
  list show all
  get show read open look view
  search find look
  fail failed failure error broken crash problem
  why reason cause
  count many statistics stats
  usage use spend spent cost consume token bill
  limit quota budget cap
  session conversation chat thread talk
  message write wrote written say said
  prompt instruction wording
  job timer schedule cron recurring nightly daily
  run execution
  approval approve confirm reject decide decision pending wait
  guardrail rule policy block mask filter forbid pii iban card
  hit catch caught found
  eval evaluation test score benchmark
  secret password credential
  trigger webhook inbound delivery event sender
  rag knowledge embedding vector semantic search
  connection connect integration oauth service github slack google
  key credential
  config configuration parameter value flag
  settings preference workspace
  activity audit history who
  notify notified alert mail notification
  provider vendor endpoint
  reachable works connect
  schema input output shape
  expire expiry
  retention keep
`);

function isTelling(word: string): boolean {
  return !PLAIN.has(word);
}

function toMeanings(lines: string): ReadonlyMap<string, string[]> {
  const meanings = new Map<string, string[]>();
  for (const line of lines.trim().split('\n')) {
    const words = [...new Set(wordsOf(line).map(toStem))];
    for (const word of words)
      meanings.set(word, [...(meanings.get(word) ?? []), ...words.filter((other) => other !== word)]);
  }
  return meanings;
}
