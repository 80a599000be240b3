import type { Position } from '../ast.ts';
import { followTarget, isStepOrWait, listReached, modulesOf } from '../reach.ts';
import type { Modules, Place } from '../reach.ts';
import type { HandedFacts } from '../replay-facts.ts';
import type { Scan } from '../scan.ts';
import type { FoundIn } from './frame.ts';

/**
 * What the compiler binds to its run in a file with a directive, and leaves as it is in one without: a helper of a workflow
 * that hands a function with a step to a variable all runs share, and one that imports a module. Such a workflow runs.
 */
export function checkUnbound(scan: Scan): FoundIn[] {
  const modules = modulesOf(scan);
  const found = new Map<string, FoundIn>();
  const add = (file: string, { line, column }: Position, message: string): void =>
    void found.set(`${file}:${line}:${column}`, { code: 'helper_not_bound', message, file, line, column });
  for (const { file, unit } of Object.keys(scan.files).flatMap((one) => listReached(one, modules))) {
    if (hasDirective(file, modules)) continue;
    for (const call of unit.handed ?? [])
      if (isShared({ file, target: call.target }, modules) && hasStep(call, file, modules))
        add(file, call, explainHanded(call));
    for (const place of unit.loads ?? []) add(file, place, LOADS);
  }
  return [...found.values()];
}

// --- internal ---

const MOVE =
  'Move this function to a file that has a workflow or a step, where the compiler binds such calls to their run';
const LOADS = `A workflow runs this import(), and may be parked before it has loaded. ${MOVE}, or import the module at the top.`;

function explainHanded({ label }: HandedFacts): string {
  return `${label}() is passed a function with a step, and is shared by all runs: it may call it within another run. ${MOVE}.`;
}

function hasDirective(file: string, modules: Modules): boolean {
  const facts = modules.read(file);
  return (facts?.steps.length ?? 0) > 0 || facts?.replay?.units.some(({ isWorkflow }) => isWorkflow) === true;
}

function isShared(holder: Place, modules: Modules): boolean {
  const place = followTarget(holder, modules);
  if (!place || place.target.from !== undefined) return false;
  const [name = ''] = place.target.path.split('.');
  return modules.read(place.file)?.replay?.shared?.includes(name) === true;
}

/** Also one that a function calls which it calls. */
function hasStep({ given }: HandedFacts, file: string, modules: Modules): boolean {
  const places = given.map((target) => ({ file, target }));
  const seen = new Set<object>();
  for (const place of places) {
    if (isStepOrWait(place, modules)) return true;
    const found = followTarget(place, modules);
    const units = found?.target.from === undefined ? (modules.read(found?.file ?? '')?.replay?.units ?? []) : [];
    for (const unit of units) {
      if (unit.name !== found?.target.path || seen.has(unit)) continue;
      seen.add(unit);
      for (const { target } of unit.calls) places.push({ file: found.file, target });
    }
  }
  return false;
}
