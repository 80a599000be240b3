import { editDistance } from './edit-distance.ts';

/** The two directives an author writes. */
export type Directive = 'use step' | 'use workflow';

export interface DirectiveMatch {
  directive: Directive;
  /** False: the author meant this directive and wrote it differently. */
  exact: boolean;
}

/** Which directive a string is or was meant to be; undefined for any other string (`use strict`, `use client`). */
export function matchDirective(text: string): DirectiveMatch | undefined {
  const exact = DIRECTIVES.find((directive) => directive === text);
  if (exact) return { directive: exact, exact: true };
  if (text.length > 20) return undefined;
  const letters = lettersOf(text);
  const near = DIRECTIVES.find((directive) => isNear(letters, lettersOf(directive), MAX_TYPOS));
  return near && { directive: near, exact: false };
}

/** True when the code may hold a directive or something close to one. Cheap, and never false for a real one. */
export function mayHoldDirective(code: string): boolean {
  return /['"`]\s*use?[\s_-]*[sw]/i.test(code);
}

/** A name that is at most two letters away. Short names are near to too much. */
export function findNear(name: string, names: Iterable<string>): string | undefined {
  if (name.length <= MAX_TYPOS + 1) return undefined;
  for (let typos = 1; typos <= MAX_TYPOS; typos++)
    for (const one of names) if (name !== one && isNear(name, one, typos)) return one;
  return undefined;
}

// --- internal ---

const DIRECTIVES: readonly Directive[] = ['use step', 'use workflow'];
const MAX_TYPOS = 2;

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^a-z]/g, '');
}

function isNear(text: string, name: string, typos: number): boolean {
  return Math.abs(text.length - name.length) <= typos && editDistance(text, name) <= typos;
}
