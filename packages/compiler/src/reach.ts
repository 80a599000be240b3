import type { FileFacts } from './analyse.ts';
import { under } from './origins.ts';
import { isWait } from './replay-table.ts';
import type { Target } from './replay-table.ts';
import type { UnitFacts } from './replay-facts.ts';

/** How the walk gets from one file to another. */
export interface Modules {
  read(file: string): FileFacts | undefined;
  /** The file a relative specifier means; undefined: there is none. */
  resolve(importer: string, specifier: string): string | undefined;
}

/** Those of a scan: its files, and by importer and specifier the file that is meant. */
export function modulesOf({
  files,
  links,
}: {
  files: Record<string, FileFacts>;
  links: Record<string, Record<string, string>>;
}): Modules {
  return { read: (file) => files[file], resolve: (importer, specifier) => links[importer]?.[specifier] };
}

/** One call on the way from a body. */
export interface Link {
  /** As written. */
  label: string;
  file: string;
  line: number;
  column: number;
}

/** A function that runs when a body does. */
export interface Reached {
  file: string;
  /** The workflow's own function. */
  body: UnitFacts;
  unit: UnitFacts;
  /** The calls that lead to it, from the body on. */
  chain: Link[];
}

/** Every function a workflow body of this file reaches, the nearest first, itself included; steps are no part of it. */
export function listReached(file: string, modules: Modules): Reached[] {
  return Array.from(walkReached(file, modules));
}

/** The same, one by one. */
export function* walkReached(file: string, modules: Modules): Generator<Reached, void> {
  const bodies = modules.read(file)?.replay?.units.filter(({ isWorkflow }) => isWorkflow) ?? [];
  for (const unit of bodies) yield* reachFrom({ file, body: unit, unit, chain: [] }, modules);
}

/** Where a target leads once every import and export on the way is followed. Local: `from` is left out. */
export function followTarget(place: Place, modules: Modules, seen = new Set<string>()): Place | undefined {
  const { file, target } = place;
  if (!target.from?.startsWith('.')) return place;
  const next = modules.resolve(file, target.from);
  const facts = next === undefined ? undefined : modules.read(next);
  const key = `${next} ${target.path}`;
  if (next === undefined || !facts || target.path === '' || seen.has(key)) return undefined;
  seen.add(key);
  const [head = '', ...rest] = target.path.split('.');
  const exported = facts.replay?.exported;
  const known = exported && Object.hasOwn(exported, head) ? exported[head] : undefined;
  if (known) return followTarget({ file: next, target: under(known, rest.join('.')) }, modules, seen);
  if (facts.exports.includes(head)) return { file: next, target: { path: target.path } };
  for (const from of facts.stars) {
    const found = followTarget({ file: next, target: { from, path: target.path } }, modules, seen);
    if (found) return found;
  }
  return undefined;
}

export interface Place {
  file: string;
  target: Target;
}

/** What a body awaits an answer of: a step, or what the runtime waits by. */
export function isStepOrWait(place: Place, modules: Modules): boolean {
  const found = followTarget(place, modules);
  if (!found) return false;
  if (found.target.from !== undefined) return isWait(found.target);
  const steps = modules.read(found.file)?.steps ?? [];
  return steps.some(({ name }) => name === found.target.path);
}

// --- internal ---

function* reachFrom(body: Reached, modules: Modules): Generator<Reached, void> {
  const reached = [body];
  const seen = new Set([body.unit]);
  for (const one of reached) {
    yield one;
    const { file, unit, chain } = one;
    for (const { target, label, line, column } of unit.calls) {
      const place = followTarget({ file, target }, modules);
      if (!place || place.target.from !== undefined) continue;
      for (const callee of modules.read(place.file)?.replay?.units ?? []) {
        if (callee.name !== place.target.path || seen.has(callee)) continue;
        seen.add(callee);
        reached.push({
          file: place.file,
          body: body.unit,
          unit: callee,
          chain: [...chain, { label, file, line, column }],
        });
      }
    }
  }
}
