import { resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Problem } from '@svc/runtime/host';
import { toProblem } from '../load-problem.ts';

/** Why a file does not bundle, in the words `svc dev` has for the same mistake. */
export function toBuildProblem(thrown: unknown, place: { root: string; file: string }): Problem {
  return toProblem(toLoadError(thrown), place);
}

// --- internal ---

interface BundleError {
  message: string;
  id?: string;
  /** What an import asked for. */
  exporter?: string;
  code?: string;
  loc?: { file?: string; line: number; column: number };
}

const MISSING_PACKAGE = /failed to resolve import "(?<name>.+?)" from "(?<importer>.+?)"/;
/** Of a module that does not parse the bundler names the path only in its picture of the place, relative to the current folder. */
const PICTURED_PATH = /\[ (?<path>.+):\d+:\d+ \]/;

function toLoadError(thrown: unknown): unknown {
  const [first] = (thrown as { errors?: BundleError[] } | null)?.errors ?? [];
  if (!first) return thrown;
  const text = stripVTControlCharacters(first.message);
  if (first.code === 'UNRESOLVED_IMPORT' && first.exporter && first.id) return missing(first.exporter, first.id);
  const { name, importer } = MISSING_PACKAGE.exec(text)?.groups ?? {};
  if (name && importer) return missing(name, importer);
  const path = PICTURED_PATH.exec(text)?.groups?.['path'];
  if (!first.loc || first.loc.file || !path) return thrown;
  const placed: BundleError = { message: text, loc: { ...first.loc, file: resolve(path) } };
  return Object.assign(new Error(text), { errors: [placed] });
}

function missing(name: string, importer: string): Error {
  return new Error(`Cannot find module '${name}' imported from '${importer}'`);
}
