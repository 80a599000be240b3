import { createRequire } from 'node:module';
import type * as Engine from 're2js';

/** Tests texts in a time that grows as they do, whatever the pattern is. */
export interface LinearPattern {
  test(text: string): boolean;
}

/** Where the engine is, for a thread that loads it by itself. Half a megabyte: it is loaded where a pattern is met. */
export function enginePath(): string {
  return load.resolve('re2js');
}

/**
 * A pattern of JavaScript on an engine that never goes back. Undefined: it is none, or asks for what such an engine has not,
 * which are lookahead, lookbehind and references to groups.
 */
export function compileLinear(source: string): LinearPattern | undefined {
  const { RE2JS } = load('re2js') as typeof Engine;
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source));
    return { test: (text) => compiled.test(text) };
  } catch {
    return undefined;
  }
}

// --- internal ---

const load = createRequire(import.meta.url);
