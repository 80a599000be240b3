import { createRequire } from 'node:module';
import type * as Re2 from 're2js';

/** A pattern of RE2: the engine that finds it, and a fast test of where it cannot match. */
export interface Pattern {
  /** Calls back with each place in `text` from `from` on. */
  find(text: string, from: number, onMatch: (start: number, end: number) => void): void;
  live: LivePattern;
}

/** Reads a text character by character, and knows when no match is under way. */
export interface LivePattern {
  /** Nothing is under way. */
  readonly idle: LiveState;
  step(state: LiveState, codePoint: number): LiveState;
}

export interface LiveState {
  /** A match may end here. */
  readonly accepts: boolean;
}

/** Throws an Error that says what is wrong with the pattern. */
export function compilePattern(source: string, { ignoreCase }: { ignoreCase: boolean }): Pattern {
  const { RE2JS } = load('re2js') as typeof Re2;
  const compiled = RE2JS.compile(source, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
  const { prog } = (compiled as unknown as { re2Input: { prog: Program } }).re2Input;
  if (prog.inst.length > MOST_INSTRUCTIONS) throw new Error('The pattern is too large; repeat less in it.');
  return {
    find(text, from, onMatch) {
      const matcher = compiled.matcher(text);
      for (let found = matcher.find(from); found; found = matcher.find())
        if (matcher.end() > matcher.start()) onMatch(matcher.start(), matcher.end());
    },
    live: createLivePattern(prog),
  };
}

// --- internal ---

const load = createRequire(import.meta.url);
const MOST_INSTRUCTIONS = 1_000;
const MOST_STATES = 2_000;
const MOST_OTHERS = 256;

interface Instruction {
  op: number;
  out: number;
  arg: number;
  matchRune(rune: number): boolean;
}

interface Program {
  start: number;
  inst: Instruction[];
}

// As re2js numbers them.
const ALT = 1;
const ALT_MATCH = 2;
const FAIL = 5;
const MATCH = 6;
const RUNE = 8;
const RUNE_ANY = 10;
const RUNE_ANY_NOT_NL = 11;
const NEWLINE = 10;

interface State extends LiveState {
  instructions: readonly number[];
  ascii: (State | undefined)[];
  others: Map<number, State>;
}

/**
 * The states the program may be in after a character, those that begin at the next one left out. Where a place has to be a
 * word boundary or an end it is taken for one: too much may be under way, and never too little.
 */
function createLivePattern({ start, inst }: Program): LivePattern {
  let states = new Map<string, State>();
  const idle: State = { accepts: false, instructions: [], ascii: [], others: new Map() };
  const first = close([start]);

  function close(from: readonly number[]): number[] {
    const seen = new Set<number>();
    const left = [...from];
    const kept: number[] = [];
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      const { op, out, arg } = inst[at] as Instruction;
      if (op === FAIL) continue;
      if (op === MATCH || (op >= RUNE && op <= RUNE_ANY_NOT_NL)) kept.push(at);
      else if (op === ALT || op === ALT_MATCH) left.push(out, arg);
      else left.push(out);
    }
    return kept.sort((a, b) => a - b);
  }

  const toState = (instructions: number[]): State => {
    if (instructions.length === 0) return idle;
    const key = instructions.join(' ');
    const known = states.get(key);
    if (known) return known;
    if (states.size >= MOST_STATES) {
      states = new Map();
      idle.ascii = [];
      idle.others.clear();
    }
    const accepts = instructions.some((at) => inst[at]?.op === MATCH);
    const state = { accepts, instructions, ascii: [], others: new Map() };
    states.set(key, state);
    return state;
  };

  const next = ({ instructions }: State, codePoint: number): State => {
    const out: number[] = [];
    for (const list of [instructions, first])
      for (const at of list) if (takes(inst[at] as Instruction, codePoint)) out.push((inst[at] as Instruction).out);
    return out.length === 0 ? idle : toState(close(out));
  };

  return {
    idle,
    step(given, codePoint) {
      const state = given as State;
      if (codePoint < 128) return (state.ascii[codePoint] ??= next(state, codePoint));
      const known = state.others.get(codePoint);
      if (known) return known;
      const made = next(state, codePoint);
      if (state.others.size < MOST_OTHERS) state.others.set(codePoint, made);
      return made;
    },
  };
}

function takes(instruction: Instruction, codePoint: number): boolean {
  if (instruction.op === MATCH) return false;
  if (instruction.op === RUNE_ANY) return true;
  return instruction.op === RUNE_ANY_NOT_NL ? codePoint !== NEWLINE : instruction.matchRune(codePoint);
}
