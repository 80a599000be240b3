import { join } from 'node:path';
import type { types as t } from '@babel/core';
import type { Problem } from '@svc/runtime/host';
import { forEachChild, literalText, positionOf } from '../ast.ts';
import type { Node, Position } from '../ast.ts';
import { findFile, findText } from '../files.ts';
import { packageNameOf } from '../host-modules.ts';
import { explainMissing, listOffered, listTaken } from '../missing-export.ts';
import type { Offered, Taken } from '../missing-export.ts';
import { createOrigins } from '../origins.ts';
import { loadParser } from '../parse.ts';
import type { Parse } from '../parse.ts';
import { createScanner } from '../scan.ts';
import type { Scan, Scanner } from '../scan.ts';
import { resolveNames } from '../scope.ts';
import { createTurn } from '../turn.ts';
import { findNear } from '../words.ts';
import { toProblems } from './frame.ts';
import type { FoundIn } from './frame.ts';
import { checkImports } from './imports.ts';
import { findStrayWorkflows } from './stray-workflows.ts';
import { checkUnawaited } from './unawaited.ts';
import { checkUnbound } from './unbound.ts';

/**
 * What the code of a workspace does wrong and is served all the same, which `svc dev` shows after an edit is in force:
 * a name that is imported and not exported, an import that leads nowhere, a step that is not awaited, a workflow that is started by a
 * name no workflow has, a workflow file in a folder that is not read.
 */
export interface LateChecks {
  /** Reads the files that changed since the last call, and gives way between them. Once `signal` is aborted: ends soon, with none. */
  find(signal?: AbortSignal): Promise<Problem[]>;
}

export interface LateCheckOptions {
  root: string;
  scanner?: Scanner | undefined;
}

export function createLateChecks({ root, scanner = createScanner({ root }) }: LateCheckOptions): LateChecks {
  let known = new Map<string, Kept>();
  return {
    async find(signal) {
      const turn = createTurn();
      const scan = await scanner.scan();
      await turn();
      const before = known;
      const read = new Map<string, Kept>();
      const pending = [...listLoaded(scan)];
      const seen = new Set(pending);
      for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
        const kept = keep(root, file, before.get(file));
        if (!kept) continue;
        read.set(file, kept);
        await turn();
        if (signal?.aborted) return [];
        for (const next of Object.values(scan.links[file] ?? {})) {
          if (!seen.has(next)) pending.push(next);
          seen.add(next);
        }
      }
      known = read;
      const found = [
        ...(await checkExports(scan, read, turn)),
        ...(await checkImports(scan, root, turn)),
        ...checkUnawaited(scan),
        ...checkUnbound(scan),
        ...checkStarted(scan, read),
        ...(await findStrayWorkflows(scan, root, signal)),
      ];
      if (signal?.aborted) return [];
      return toProblems(root, found.sort(byPlace));
    },
  };
}

// --- internal ---

/** What one file says, and the file it was read from. */
interface Kept extends Offered {
  stamp: string;
  taken: Taken[];
  started: Started[];
}

/** A call that starts a workflow by a literal name. */
interface Started extends Position {
  name: string;
}

/** Members of `svc.workflows` whose first argument is the name of a workflow of this workspace. */
const STARTS = new Set([
  'svc.workflows.start',
  'svc.workflows.startMany',
  'svc.workflows.startAndWait',
  'svc.workflows.schedule',
]);

let parser: Parse | undefined;

/** What is loaded for an entry; a file beside them may be run by something else. */
function listLoaded({ agents, workflows, configSchema, guardrails, connections, scorers }: Scan): Set<string> {
  const entries = [...agents, ...workflows, ...(configSchema ? [configSchema] : [])];
  return new Set([...entries, ...guardrails, ...connections, ...scorers].flatMap((one) => [one.file, ...one.modules]));
}

function keep(root: string, file: string, old: Kept | undefined): Kept | undefined {
  const path = join(root, file);
  const stats = findFile(path);
  if (!stats) return undefined;
  // One written twice within a tick of the file system's clock has the same times.
  const stamp = `${stats.mtimeMs} ${stats.size} ${stats.ino}`;
  if (old?.stamp === stamp && Date.now() - stats.mtimeMs > SETTLED_MS) return old;
  const text = findText(path) ?? '';
  parser ??= loadParser();
  try {
    const { program } = parser(text, file);
    const started = MENTIONS.test(text) ? listStarted(program) : [];
    return { stamp, ...listOffered(program), taken: listTaken(program), started };
  } catch {
    return { stamp, names: [], stars: [], isOpen: true, taken: [], started: [] };
  }
}

const SETTLED_MS = 50;
const MENTIONS = /\bworkflows\b[^]*\b(?:start|startMany|startAndWait|schedule)\b/;

function listStarted(program: t.Program): Started[] {
  const origins = createOrigins(resolveNames(program));
  const found: Started[] = [];
  const visit = (node: Node): void => {
    if (node.type === 'CallExpression') {
      const [first] = node.arguments;
      const name = literalText(first);
      const called = name === undefined ? undefined : origins.of(node.callee);
      if (first && name !== undefined && called && packageNameOf(called.from ?? '') && STARTS.has(called.path))
        found.push({ name, ...positionOf(first) });
    }
    forEachChild(node, visit);
  };
  visit(program);
  return found;
}

async function checkExports(
  scan: Scan,
  read: ReadonlyMap<string, Kept>,
  turn: () => Promise<void>,
): Promise<FoundIn[]> {
  const found: FoundIn[] = [];
  const known: Exports['known'] = new Map();
  for (const [file, { taken }] of read)
    for (const { name, specifier, line, column } of taken) {
      await turn();
      const module = scan.links[file]?.[specifier];
      if (module === undefined) continue;
      const names = allNames(module, { scan, read, known });
      if (!names || names.has(name)) continue;
      found.push({ code: 'export_missing', message: explainMissing(module, name, [...names]), file, line, column });
    }
  return found;
}

interface Exports {
  scan: Scan;
  read: ReadonlyMap<string, Kept>;
  /** Everything each module exports that was asked for; undefined: that is not certain. */
  known: Map<string, ReadonlySet<string> | undefined>;
}

/** Everything a module exports; undefined: that is not certain. */
function allNames(module: string, exports: Exports): ReadonlySet<string> | undefined {
  const { known } = exports;
  if (!known.has(module)) known.set(module, collectNames(module, exports));
  return known.get(module);
}

/** Of the module itself and of each it exports all of, however many ways lead there. */
function collectNames(module: string, { scan, read, known }: Exports): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  const seen = new Set([module]);
  for (const file of seen) {
    const kept = read.get(file);
    if (!kept || kept.isOpen) return undefined;
    for (const name of kept.names) if (file === module || name !== 'default') names.add(name);
    for (const star of kept.stars) {
      const next = scan.links[file]?.[star];
      if (next === undefined || (known.has(next) && !known.get(next))) return undefined;
      seen.add(next);
    }
  }
  return names;
}

function checkStarted({ workflows }: Scan, read: ReadonlyMap<string, Kept>): FoundIn[] {
  const names = new Set(workflows.map(({ name }) => name));
  return [...read].flatMap(([file, { started }]) =>
    started
      .filter(({ name }) => !names.has(name))
      .map(({ name, line, column }) => {
        const near = findNear(name, names);
        const known = names.size === 0 ? 'There is none.' : `There is ${listNames(names)}.`;
        const advice = near === undefined ? known : `Did you mean "${near}"?`;
        const message = `This workspace has no workflow "${name}", so the call fails. ${advice}`;
        return { code: 'workflow_unknown' as const, message, file, line, column };
      }),
  );
}

/** As many as a line holds. */
function listNames(names: ReadonlySet<string>): string {
  const shown = [...names].slice(0, 8).map((name) => `"${name}"`);
  return names.size > shown.length ? `${shown.join(', ')} and ${names.size - shown.length} more` : shown.join(', ');
}

function byPlace(a: FoundIn, b: FoundIn): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}
