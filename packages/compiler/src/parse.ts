import { createRequire } from 'node:module';
import type * as Babel from '@babel/core';
import type * as Parser from '@babel/parser';

export type Parse = (code: string, file: string) => Babel.types.File;

/** Loads the parser (30 to 60 ms), so call it only when a file has to be parsed. */
export function loadParser(): Parse {
  const { parse } = load('@babel/parser') as typeof Parser;
  return (code, file) => parse(code, { ...parserOptions(file), attachComment: false }) as unknown as Babel.types.File;
}

/** Loads all of Babel (100 ms and more), so call it only when a file has to be transformed. */
export function loadBabel(): typeof Babel {
  return load('@babel/core') as typeof Babel;
}

/** What an author may write: TypeScript, with JSX where the extension allows it. */
export function parserOptions(file: string): Parser.ParserOptions {
  return { sourceType: 'module', plugins: [...languageOf(file), ...SYNTAX] };
}

// --- internal ---

// `import()` of a CommonJS package reads all its text twice, to guess the names it exports.
const load = createRequire(import.meta.url);

const SYNTAX = ['decorators-legacy', 'decoratorAutoAccessors', 'explicitResourceManagement'] as const;

function languageOf(file: string): ('typescript' | 'jsx')[] {
  if (/\.[mc]?ts$/.test(file)) return ['typescript'];
  return file.endsWith('x') ? ['typescript', 'jsx'] : ['jsx'];
}
